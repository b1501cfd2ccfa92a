import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { buffer } from 'node:stream/consumers';
import { clientOf } from '@parley/testing/api';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import { openConversations } from './conversations';
import { type Disturbance, tokenPlaceholder, uniquePlaceholder } from './disturbance';
import { openBot, type Workbench } from './workbench';

export type Probe = 'read' | 'write';

/** Noisy neighbour scenario: one client that causes much work or holds a scarce resource while others are measured. */
export interface Scene {
  name: string;
  disturbance: Disturbance;
  probe: Probe;
  /** Run before and after each round with the disturbance. */
  begin?: () => Promise<unknown>;
  end?: () => Promise<unknown>;
}

const mega = 1_000_000;
const unpackedBytes = 400 * mega;
const eventPauseMs = 1_000;
const longMs = 120_000;
/** JWT of the right form whose signature is wrong, another one in each request. */
const forgedKey = `${base64(JSON.stringify({ alg: 'HS256', typ: 'JWT' }))}.${base64(JSON.stringify({ id: 'user_1' }))}.${uniquePlaceholder}`;

export async function scenesOf(bench: Workbench, platform: RunningPlatform): Promise<Scene[]> {
  return [
    ...(await bodyScenes(bench, platform)),
    ...(await strangerScenes(platform)),
    ...(await codeScenes(platform)),
    await importScene(platform),
  ];
}

/** Large bodies, and sockets that stay silent. */
async function bodyScenes(bench: Workbench, platform: RunningPlatform): Promise<Scene[]> {
  const { url, token } = platform;
  const { id: workspaceId } = await clientOf(platform).createWorkspace({ name: 'One of many' });
  const { bot, client } = await openBotIn({ ...platform, workspaceId });
  const { integrations } = (await client.getBot({ id: bot.id })).bot;
  const { webhookId } = Object.values(integrations).find(({ name }) => name === 'chat')!;
  const { table } = await client.createTable({ name: 'AllTable', schema: { a: { type: 'string' } } });

  const account = { authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId };
  const ofBot = { ...account, 'x-bot-id': bot.id };
  const bodies = async (name: string, line: string, headers: Record<string, string>, body: string): Promise<Scene> => {
    const bodyFile = join(bench.folder, `${name.replaceAll(/\W+/g, '-')}.json`);
    await writeFile(bodyFile, body);
    return { name, probe: 'read', disturbance: { kind: 'bodies', url, line, headers, bodyFile, connections: 2 } };
  };
  const silent = (sockets: number): Scene => ({
    name: `${sockets} silent sockets without a credential`,
    probe: 'write',
    disturbance: { kind: 'silent sockets', url, line: `POST /chat/${webhookId}/users`, headers: {}, sockets },
  });
  const update = `PUT /v1/admin/bots/${bot.id}`;
  return [
    await bodies('the code of a bot, 25 MB', update, account, JSON.stringify({ code: codeOf(25 * mega - 100_000) })),
    await bodies('bodies of 60 MB', update, account, JSON.stringify({ code: codeOf(55 * mega) })),
    await bodies('1000 rows of 4 kB', `POST /v1/tables/${table.id}/rows`, ofBot, rowsOf(1000, 3_900)),
    await bodies('12 MB of small values', `POST /v1/tables/${table.id}/rows`, ofBot, valuesOf(12 * mega)),
    await bodies('1.9 MB of {} without a credential', `POST /chat/${webhookId}/users`, {}, valuesOf(1.9 * mega)),
    await bodies('0.9 MB of {} with a credential', 'PUT /v1/files', ofBot, valuesOf(0.9 * mega)),
    silent(130),
    silent(1000),
  ];
}

/** Requests of senders who have proven nothing, and messages of one chat user. */
async function strangerScenes(platform: RunningPlatform): Promise<Scene[]> {
  const { url } = platform;
  const { path, userHeaders, ids } = await openConversations(platform, 1);
  const requests = (
    name: string,
    connections: number,
    line: string,
    more: { headers?: Record<string, string>; body?: object } = {},
  ): Scene => {
    const { headers = {}, body } = more;
    return {
      name: `${connections} ${name}`,
      probe: 'read',
      disturbance: { kind: 'requests', url, line, headers, body: body && JSON.stringify(body), connections },
    };
  };
  const { client } = await openBot(platform);
  const { file } = await client.upsertFile({ key: 'public', size: 1, accessPolicies: ['public_content'] });
  const headers = { 'content-type': 'application/octet-stream' };
  const { ok } = await fetch(file.uploadUrl, { method: 'PUT', body: 'a', headers });
  if (!ok) throw new Error('The public file could not be uploaded.');
  const message = { conversationId: ids[0], payload: { type: 'text', text: 'Hello' } };
  return [
    requests('anonymous createUser', 20, `POST ${path}/users`, { body: { name: 'Anonymous' } }),
    requests('messages of one chat user', 20, `POST ${path}/messages`, { headers: userHeaders, body: message }),
    requests('forged user keys', 30, `GET ${path}/conversations`, { headers: { 'x-user-key': forgedKey } }),
    requests('forged tokens', 30, 'GET /v1/admin/bots', { headers: { authorization: `Bearer ${tokenPlaceholder}` } }),
    requests('unknown webhooks', 30, `POST /webhooks/${uniquePlaceholder}`, { body: {} }),
    requests('readers of /openapi.json', 20, 'GET /openapi.json'),
    requests('readers of the console', 20, 'GET /console'),
    requests('readers of a public file', 20, `GET /content/${file.id}`),
    requests('readers of unknown paths', 30, 'GET /unknown'),
    requests('readers of /readyz', 20, 'GET /readyz'),
    requests('readers of /healthz', 20, 'GET /healthz'),
    requests('browsers that ask for CORS', 20, 'OPTIONS /v1/files', {
      headers: { origin: 'https://example.com', 'access-control-request-method': 'PUT' },
    }),
  ];
}

/** Code that writes much, called once a second. */
async function codeScenes(platform: RunningPlatform): Promise<Scene[]> {
  const codes = {
    'code that prints 5,000 lines': `console.log('A line of some length, as programs print\\n'.repeat(5_000));`,
    'code that logs 10,000 times': `for (let n = 0; n < 10_000; n += 1) console.log('Line ' + n);`,
    'code that unpacks 400 MB': `
      const { gzipSync, gunzipSync } = require('node:zlib');
      const packed = gzipSync(Buffer.alloc(1_000_000));
      for (let n = 0; n < 400; n += 1) gunzipSync(packed);`,
  };
  return Promise.all(
    Object.entries(codes).map(async ([name, code]): Promise<Scene> => {
      const { id, headers, client } = await openBot(platform);
      await clientOf(platform).updateBot({
        id,
        code: `exports.handler = async () => { ${code} return { status: 200 }; };`,
      });
      const input = { type: 'bench:happened', payload: {} };
      const { event } = await client.createEvent(input);
      const isDone = ({ event: { status } }: Awaited<ReturnType<typeof client.getEvent>>) => status === 'processed';
      await waitFor(() => client.getEvent({ id: event.id }), isDone, longMs);
      const [line, body] = ['POST /v1/chat/events', JSON.stringify(input)];
      return {
        name,
        probe: 'read',
        disturbance: {
          kind: 'requests',
          url: platform.url,
          line,
          headers,
          body,
          connections: 1,
          pauseMs: eventPauseMs,
        },
      };
    }),
  );
}

/** Import of a gzipped file whose rows are all refused, so that only reading it costs time. */
async function importScene(platform: RunningPlatform): Promise<Scene> {
  const { client, headers } = await openBot(platform);
  const packed = await buffer(Readable.from(refusedRows(unpackedBytes)).pipe(createGzip()));
  const { file } = await client.upsertFile({ key: 'packed.csv', size: packed.length });
  const response = await fetch(file.uploadUrl, { method: 'PUT', body: packed });
  if (!response.ok) throw new Error(`The upload failed with status ${response.status}: ${await response.text()}`);
  const table = 'ImportedTable';
  return {
    name: `import of ${unpackedBytes / mega} MB in ${(packed.length / mega).toFixed(1)} MB of gzip`,
    probe: 'read',
    begin: () => client.createTable({ name: table, schema: { a: { type: 'string' } } }),
    disturbance: {
      ...{ kind: 'requests', url: platform.url, line: `POST /v1/tables/${table}/import`, headers },
      ...{ body: JSON.stringify({ fileId: file.id }), connections: 1, isOnce: true },
    },
    // Ends the import.
    end: () => client.deleteTable({ table }),
  };
}

function* refusedRows(bytes: number): Iterable<string> {
  yield 'a\n';
  const lines = Array.from({ length: 200 }, (_, n) => `${randomUUID()},the line ${n} has more cells than the header\n`);
  const block = lines.join('');
  for (let written = 0; written < bytes; written += block.length) yield block;
}

async function openBotIn(platform: RunningPlatform) {
  const { bot } = await clientOf(platform).createBot({});
  return { bot, client: clientOf(platform, bot.id) };
}

/** JavaScript as bundlers write it, with characters that JSON escapes. */
function codeOf(bytes: number): string {
  const line = 'var a=function(b,c){return b.d("e",c)};\n';
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
}

function rowsOf(count: number, bytes: number): string {
  return JSON.stringify({ rows: Array.from({ length: count }, () => ({ a: 'x'.repeat(bytes) })) });
}

function valuesOf(bytes: number): string {
  return `{"rows":[${'{},'.repeat(Math.floor(bytes / 3))}{}]}`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64url');
}
