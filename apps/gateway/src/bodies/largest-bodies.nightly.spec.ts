import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { ApiError } from '@parley/contracts/errors';
import { allOperations } from '@parley/contracts/contracts';
import { operation } from '@parley/contracts/operation';
import { longestTurnMs } from '@parley/testing/longest-turn';
import { BodiesService } from './bodies.service';
import { BodyMemoryLimiter } from './body-memory.limiter';
import { LargeBodiesService } from './large-bodies.service';
import type { LargeBody } from './large-body';

const chunkBytes = 65_536;
const mostTurnMs = 20;

const bodies = new BodiesService(new BodyMemoryLimiter(10));
const largeBodies = new LargeBodiesService();

afterAll(() => largeBodies.onApplicationShutdown());

const times = <T>(count: number, entry: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => entry(index));
const named = <T>(count: number, entry: (index: number) => T) =>
  Object.fromEntries(times(count, (index) => [`name${index}`, entry(index)]));

// One character of two bytes is enough for a string of two bytes a character.
const code = (bytes: number) => `// 😀\n${'const a = "b";\n'.repeat(bytes / 15 - 1)}`;
const published = { name: 'x', version: '1.0.0' };
const schemas = (count: number) => named(count, () => ({ schema: { enum: times(90, () => 'x'.repeat(1_000)) } }));
const rows = times(1_000, (id) => ({ id, ...named(14, () => 'ä'.repeat(500)) }));
const id = (kind: string) => `${kind}_${'0'.repeat(26)}`;
const message = {
  ...{ userId: id('user'), conversationId: id('conv'), type: 'text', tags: {}, discriminateByTags: [] },
  createdAt: '2026-01-31T12:00:00.000Z',
};

/** Largest bodies by operation, without fields that are dropped. */
const largest: Record<string, object> = {
  'admin.bots.create': { code: code(24_900_000) },
  'admin.bots.update': { code: code(24_900_000) },
  'hub.plugins.create': { ...published, code: { node: code(18_000_000), browser: code(8_000_000) } },
  'hub.plugins.update': { code: { node: code(8_000_000), browser: code(18_000_000) } },
  'hub.integrations.create': { ...published, code: code(24_900_000), entities: schemas(20) },
  'hub.integrations.validateCreation': { ...published, code: code(24_900_000) },
  'hub.integrations.update': { code: code(24_900_000) },
  'hub.integrations.validateUpdate': { code: code(24_900_000) },
  'hub.interfaces.create': { ...published, entities: schemas(170) },
  'hub.interfaces.update': { entities: schemas(170) },
  'files.setPassages': { passages: times(5_000, () => ({ content: 'x'.repeat(3_000) })) },
  'chat.messages.import': { messages: times(100, () => ({ ...message, payload: { text: 'x'.repeat(130_000) } })) },
  'tables.rows.create': { rows },
  'tables.rows.update': { rows },
  'tables.rows.upsert': { rows },
};

/** Repeats a 503, as clients do: on a busy machine the child process is not always done before the deadline. */
async function readAtLast(subject: string, bytes: Buffer): Promise<object> {
  for (;;) {
    try {
      return await read(subject, bytes);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 503) throw error;
    }
  }
}

/** Reads a body as the gateway does, and the input as the service does. */
async function read(subject: string, bytes: Buffer): Promise<object> {
  const found = allOperations.find((candidate) => candidate.subject === subject)!;
  const stream = new PassThrough();
  const raw = Object.assign(stream, { headers: { 'content-length': String(bytes.length) } });
  const sender = { tenant: 'workspace-1', isAuthenticated: true };
  const incoming = { raw: raw as unknown as IncomingMessage, operation: found, sender, lease: undefined };
  const received = bodies.read(incoming).finally(() => stream.destroy());
  void send(stream, bytes);
  const body = (await received) as LargeBody;
  (incoming.lease as { end(): void } | undefined)?.end();
  const raws = { body, query: {}, path: { id: 'id', table: 'Table' }, headers: {} };
  return (await largeBodies.read(found, sender.tenant, raws)).parse();
}

async function send(stream: PassThrough, bytes: Buffer): Promise<void> {
  for (let from = 0; from < bytes.length; from += chunkBytes) {
    if (!stream.write(bytes.subarray(from, from + chunkBytes))) await once(stream, 'drain');
  }
  stream.end();
}

it('tries the largest body of each operation with bodies over the default limit', () => {
  const { bodyLimitBytes } = operation({
    subject: '',
    summary: '',
    access: allOperations[0]!.access,
    input: Object,
    output: Object,
  });
  const large = allOperations.filter((each) => each.bodyLimitBytes > bodyLimitBytes);

  expect(Object.keys(largest).sort()).toEqual(large.map(({ subject }) => subject).sort());
});

it.each(Object.entries(largest))(
  'reads the largest body of %s, in short turns of the event loop',
  async (subject, body) => {
    const bytes = Buffer.from(JSON.stringify(body));
    let input: object = {};

    const turnMs = await longestTurnMs(async () => (input = await readAtLast(subject, bytes)), mostTurnMs);

    expect(input).toMatchObject(body);
    expect(turnMs).toBeLessThan(mostTurnMs);
  },
);
