import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import fastify, { type FastifyReply } from 'fastify';
import { type BareOperations, BareSql, openPool } from './bare-sql';
import { postJson } from './keep-alive';

// Baseline: the minimal server that writes a message and its event, calls the bot, writes the bot's answer and settles
// the event. Fastify and `pg` in one process without a bus, a queue, credentials, checks and logs.

interface Message {
  conversationId: string;
  payload: object;
}

const options = JSON.parse(readFileSync(process.env['BARE_OPTIONS_FILE'] ?? '', 'utf8')) as BareOperations;
const { recordings, bot } = options;
const pool = openPool(options, options.schema);
const say = new BareSql(pool, recordings['say']!);
const reply = new BareSql(pool, recordings['reply']!);
const listeners = new Map<string, Set<ServerResponse>>();

function show({ conversationId, payload }: Message, isBot: boolean): void {
  const frame = JSON.stringify({ type: 'message_created', data: { conversationId, payload, isBot } });
  for (const listener of listeners.get(conversationId) ?? [])
    listener.write(`event: message\nid: 1\ndata: ${frame}\n\n`);
}

async function deliver({ conversationId, payload }: Message, eventId: string): Promise<void> {
  const event = { id: eventId, type: 'message_created', conversationId, payload: { message: { payload } } };
  const url = `${bot!.url}/?${new URLSearchParams({ api: ownUrl, key: 'none' }).toString()}`;
  const status = await postJson(url, { event }, { 'x-bot-id': bot!.id });
  await pool.query({
    name: 'settle',
    text: 'UPDATE event SET status = $3 WHERE bot_id = $1 AND id = $2',
    values: [bot!.id, eventId, status === 200 ? 'processed' : 'failed'],
  });
}

let ownUrl: string;
const app = fastify();
app.post<{ Body: Message }>('/messages', async ({ body }, answer: FastifyReply) => {
  const ids = new Map<string, string>();
  const written = await say.run(body.conversationId, ids);
  show(body, false);
  void deliver(
    body,
    [...ids.values()].find((id) => id.startsWith('evt_'))!,
  );
  return answer.code(201).send(written);
});
app.post<{ Body: Message }>('/v1/chat/messages', async ({ body }, answer: FastifyReply) => {
  const written = await reply.run(body.conversationId);
  show(body, true);
  return answer.code(201).send(written);
});
app.get<{ Params: { id: string } }>('/conversations/:id/listen', ({ params: { id } }, answer) => {
  answer.hijack();
  answer.raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  answer.raw.flushHeaders();
  const here = listeners.get(id) ?? new Set();
  listeners.set(id, here.add(answer.raw));
  answer.raw.once('close', () => here.delete(answer.raw));
});
void app.listen({ host: '127.0.0.1', port: 0 }).then((url) => {
  ownUrl = url;
  process.stdout.write(`Listening at ${url}\n`);
});
