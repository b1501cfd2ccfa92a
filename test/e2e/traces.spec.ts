import { randomBytes } from 'node:crypto';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import type { Account, PublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { type RecordedSpan, recordSpans } from '@parley/tracing/test/recorded-spans';
import { startAllServices } from '../support/all-services';

const content = 'The lighthouse keeper lives at the end of the pier.';
const key = 'a-key-of-nobodys-business.txt';

let recorded: ReturnType<typeof recordSpans>;
let embeddings: EmbeddingServer;
let api: PublicApi;
let owner: Account;
let botId: string;

beforeAll(async () => {
  recorded = recordSpans();
  embeddings = await EmbeddingServer.start();
  api = await startAllServices({ embeddingsUrl: embeddings.url });
  owner = await api.newAccount();
  botId = (await owner.client.createBot({})).bot.id;
});

afterAll(async () => {
  await api?.stop();
  await embeddings?.stop();
  await recorded.stop();
});

const newTrace = () => {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-01` };
};
const spansOf = (traceId: string) => recorded.spans().filter((span) => span.traceId === traceId);

function headers(traceparent?: string) {
  return {
    authorization: `Bearer ${owner.token}`,
    'x-bot-id': botId,
    'x-workspace-id': owner.workspaceId,
    ...(traceparent && { traceparent }),
  };
}

async function upload(traceparent: string, content: string): Promise<{ uploadUrl: string }> {
  const json = { key, size: content.length, contentType: 'text/plain', index: true };
  const { file } = (await api.send('PUT /v1/files', { headers: headers(traceparent), json })).json;
  const put = await fetch(file.uploadUrl, {
    method: 'PUT',
    headers: { 'content-type': 'text/plain', traceparent },
    body: content,
  });
  expect(put.status).toBe(200);
  return file;
}

function consumed(traceId: string): Promise<RecordedSpan[]> {
  return waitFor(
    () => spansOf(traceId),
    (found) => found.some(({ attributes }) => attributes['parley.outcome'] === 'ok'),
  );
}

/** Spans whose parent is not in the list. */
function topsOf(spans: RecordedSpan[]): RecordedSpan[] {
  return spans.filter(({ parentId }) => !spans.some(({ id }) => id === parentId));
}

function pathTo(span: RecordedSpan, all: RecordedSpan[]): string[] {
  const parent = all.find(({ id }) => id === span.parentId);
  return [...(parent ? pathTo(parent, all) : []), `${span.kind} ${span.name}`];
}

it('traces an upload from the gateway over the bus and the event to the worker and its SQL, as one trace', async () => {
  const trace = newTrace();

  const { uploadUrl } = await upload(trace.traceparent, content);
  const spans = await consumed(trace.traceId);

  const paths = spans.map((span) => pathTo(span, spans).join(' > '));
  const request = 'server PUT /v1/files';
  const put = 'server PUT /content/:fileId';
  const worker = `${put} > consumer index file`;
  expect(paths).toEqual(
    expect.arrayContaining([
      `${request} > client admin.identify > server admin.identify > client SELECT`,
      `${request} > client files.upsert > server files.upsert > client WITH`,
      `${put} > client UPDATE`,
      `${put} > producer send files.uploaded > client INSERT`,
      `${put} > producer send files.uploaded > consumer process files.uploaded > client WITH`,
      `${worker} > internal index reading`,
      `${worker} > internal index chunking`,
      `${worker} > internal index embedding > client POST /v1/embeddings`,
      `${worker} > internal index writing > client INSERT`,
      `${worker} > client COMMIT`,
    ]),
  );
  expect(topsOf(spans).map(({ parentId }) => parentId)).toEqual([trace.spanId, trace.spanId]);
  const told = JSON.stringify(spans);
  const signature = new URL(uploadUrl).searchParams.get('signature')!;
  for (const secret of [owner.token, key, signature, 'lighthouse']) expect(told).not.toContain(secret);
});

it('records a failed attempt', async () => {
  const trace = newTrace();
  embeddings.order('marker-of-traces', { status: 500, message: 'out of order' });

  await upload(trace.traceparent, 'Never embedded: marker-of-traces.');
  const spans = await consumed(trace.traceId);

  expect(spans.find(({ name }) => name === 'index file')).toMatchObject({
    hasFailed: true,
    attributes: { 'parley.attempt': 1, 'error.type': 'EmbedderUnavailable' },
  });
});

it('distinguishes a refused request from a failed one', async () => {
  const trace = newTrace();

  await api.send('GET /v1/files/nowhere', { headers: headers(trace.traceparent) });
  const spans = await waitFor(
    () => spansOf(trace.traceId),
    (found) => found.some(({ name }) => name.startsWith('GET')),
  );

  expect(topsOf(spans)).toMatchObject([
    {
      name: 'GET /v1/files/:id',
      hasFailed: false,
      attributes: { 'http.response.status_code': 404, 'error.type': 'ResourceNotFound' },
    },
  ]);
});

it.each([
  ['no trace context', undefined],
  ['an invalid trace context', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`],
])('starts a trace for a request with %s', async (_what, traceparent) => {
  const before = recorded.spans().length;

  await api.send('GET /v1/files', { headers: headers(traceparent) });
  const [top] = await waitFor(
    () =>
      recorded
        .spans()
        .slice(before)
        .filter(({ name }) => name === 'GET /v1/files'),
    (found) => found.length > 0,
  );

  expect(top!.parentId).toBeUndefined();
  expect(top!.traceId).toMatch(/[1-9a-f]/);
});

it('records no spans of a trace that the caller does not sample', async () => {
  const trace = newTrace();
  const other = newTrace();

  await api.send('GET /v1/files', { headers: headers(trace.traceparent.replace(/01$/, '00')) });
  await api.send('GET /v1/files', { headers: headers(other.traceparent) });
  await waitFor(() => topsOf(spansOf(other.traceId)).length > 0);

  expect(spansOf(trace.traceId)).toEqual([]);
});

it('starts no traces for background requests between services', () => {
  const begun = recorded.spans().filter(({ parentId }) => parentId === undefined);

  expect(new Set(begun.map(({ kind }) => kind))).toEqual(new Set(['server']));
});
