import { randomUUID } from 'node:crypto';
import { allOperations } from '@parley/contracts/contracts';
import type { Operation } from '@parley/contracts/operation';
import type { TestResponse, PublicApi } from '@parley/testing/public-api';
import { ask, type Request, requestOf, senderOf } from '../support/requests';
import { Tenant } from '../support/tenant';
import { startAllServices } from '../support/all-services';

let api: PublicApi;
let alice: Tenant;
let mallory: Tenant;

beforeAll(async () => {
  api = await startAllServices();
  [alice, mallory] = await Promise.all([Tenant.create(api), Tenant.create(api)]);
});

afterAll(() => api?.stop());

function send(operation: Operation, tenant: Tenant, request: Request, key: string): Promise<TestResponse> {
  const headers = { ...request.headers, 'idempotency-key': key };
  return ask(api.url, operation, senderOf(operation, tenant), { ...request, headers });
}

/** POST operations that create nothing, or are idempotent without a key. */
const othersByPost = [
  'admin.registrations.configure',
  // A second replay calls the bot again, as a person wishes.
  'chat.deliveries.replayOfBot',
  // A repetition declares another file, which lapses without content.
  'chat.chatFiles.create',
  'chat.endpoint.addParticipant',
  // Not authenticated: a replay would reveal the key of the user to anybody.
  'chat.endpoint.createUser',
  'chat.endpoint.getOrCreateConversation',
  'chat.endpoint.getOrCreateUser',
  'chat.states.getOrSet',
  'chat.states.set',
  'chat.states.setExpiry',
  // Calls whatever the bot does.
  'runtime.actions.call',
  'tables.rows.delete',
  'tables.rows.find',
];

const takers = allOperations.filter(({ isIdempotent }) => isIdempotent);

describe('the header Idempotency-Key', () => {
  it('accepts Idempotency-Key for exactly the POST operations of chat, tables and files that create', () => {
    const posts = allOperations.filter(({ route = '' }) => /^POST \/(chat|v1\/(chat|tables|files))\b/.test(route));

    const subjects = posts.map(({ subject }) => subject).filter((subject) => !othersByPost.includes(subject));
    expect(takers.map(({ subject }) => subject).sort()).toEqual(subjects.sort());
  });

  it('accepts Idempotency-Key only for operations with an authenticated caller', () => {
    takers.forEach(({ access }) => expect(['bot', 'chat-user']).toContain(access.actor));
  });

  it.each(takers.map((operation) => [operation.subject, operation] as const))(
    'makes %s replay its response to the same body, and refuse another body',
    async (_subject, operation) => {
      const key = randomUUID();
      const [request, another] = [await requestOf(operation, alice), await requestOf(operation, alice)];

      const first = await send(operation, alice, request, key);
      const again = await send(operation, alice, request, key);
      const other = await send(operation, alice, another, key);

      expect(first).toMatchObject({ status: operation.status });
      expect(first.headers).not.toHaveProperty('idempotent-replayed');
      expect({ status: again.status, text: again.text }).toEqual({ status: first.status, text: first.text });
      expect(again.headers).toMatchObject({ 'idempotent-replayed': 'true' });
      expect(other).toMatchObject({ status: 400, json: { type: 'InvalidPayload' } });
    },
  );

  it.each(takers.map((operation) => [operation.subject, operation] as const))(
    'makes %s replay nothing to another tenant',
    async (_subject, operation) => {
      const key = randomUUID();
      const request = await requestOf(operation, alice);
      const first = await send(operation, alice, request, key);

      const answer = await send(operation, mallory, request, key);

      expect(answer.headers).not.toHaveProperty('idempotent-replayed');
      // An empty answer tells nothing.
      if (first.text !== '{}') expect(answer.text).not.toBe(first.text);
    },
  );

  it.each(takers.map((operation) => [operation.subject, operation] as const))(
    'accepts the same Idempotency-Key of two tenants for %s',
    async (_subject, operation) => {
      const key = randomUUID();
      await send(operation, alice, await requestOf(operation, alice), key);

      const answer = await send(operation, mallory, await requestOf(operation, mallory), key);

      expect(answer).toMatchObject({ status: operation.status });
      expect(answer.headers).not.toHaveProperty('idempotent-replayed');
    },
  );
});
