import { allOperations } from './contracts';
import { maxIndexedBytes, indexFile } from './files';
import { consumer, event, type Operation } from './operation';

const endUsers = ['chat-user'];
const unauthenticated = ['anyone', 'chat-visitor'];
const withMuch = [
  'PUT /v1/files/{id}/passages',
  'POST /v1/admin/interfaces',
  'PUT /v1/admin/interfaces/{id}',
  'POST /v1/chat/messages/import-messages',
  'POST /v1/tables/{table}/rows',
  'PUT /v1/tables/{table}/rows',
  'POST /v1/tables/{table}/rows/upsert',
];
const withMedia = [
  'POST /v2/cognitive/generate-text',
  'POST /v2/cognitive/generate-text-stream',
  'POST /v2/cognitive/transcribe-audio',
  'POST /v1/ai/chat/completions',
  'POST /v1/ai/embeddings',
];
const withCode = [
  'POST /v1/admin/bots',
  'PUT /v1/admin/bots/{id}',
  'POST /v1/admin/integrations',
  'POST /v1/admin/integrations/validate',
  'PUT /v1/admin/integrations/{id}',
  'PUT /v1/admin/integrations/{id}/validate',
  'POST /v1/admin/plugins',
  'PUT /v1/admin/plugins/{id}',
];

function limitsOf({ route, access }: Operation): Pick<Operation, 'bodyLimitBytes' | 'bodyLimitValues'> {
  const bodyLimitValues = withCode.includes(route!) ? 10_000_000 : 100_000;
  if (withCode.includes(route!)) return { bodyLimitBytes: 32_000_000, bodyLimitValues };
  if (withMedia.includes(route!)) return { bodyLimitBytes: 32_000_000, bodyLimitValues };
  if (withMuch.includes(route!)) return { bodyLimitBytes: 16_000_000, bodyLimitValues };
  if (endUsers.includes(access.actor)) return { bodyLimitBytes: 1_000_000, bodyLimitValues };
  return { bodyLimitBytes: unauthenticated.includes(access.actor) ? 100_000 : 2_000_000, bodyLimitValues };
}

it('limits the body of each operation by its caller, and by what it carries', () => {
  const wrong = allOperations.filter((operation) => {
    const { bodyLimitBytes, bodyLimitValues } = limitsOf(operation);
    return operation.bodyLimitBytes !== bodyLimitBytes || operation.bodyLimitValues !== bodyLimitValues;
  });

  expect(wrong.map(({ route, subject }) => route ?? subject)).toEqual([]);
});

it('delivers an event ten times before it is a dead letter, and one to index a file 100 times', () => {
  const plain = consumer({ name: 'probe.plain', event: event({ subject: 'probe.happened', data: Object }) });

  expect([plain.maxDeliveries, indexFile.maxDeliveries]).toEqual([10, 100]);
});

it('indexes files of at most 95 MiB', () => {
  expect(maxIndexedBytes).toBe(99_614_720);
});
