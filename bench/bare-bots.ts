import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import fastify, { type FastifyReply } from 'fastify';
import { type BareOperations, BareSql, openPool } from './bare-sql';
import type { BareCall, BareAnswer } from './bare-child';
import { BareQueue } from './bare-queue';
import { postJson } from './keep-alive';

// Baseline: the minimal server that writes a message and its event, calls the bot, writes the bot's answer and settles
// the event. Fastify and `pg` in one process without a bus, credentials, checks and logs, with the queue's SQL or without
// a queue. The code of a bot runs in a forked process.

interface Message {
  conversationId: string;
  payload: object;
}

const options = JSON.parse(readFileSync(process.env['BARE_OPTIONS_FILE'] ?? '', 'utf8')) as BareOperations;
const { recordings, bot, delivery } = options;
const pool = openPool(options, options.schema);
const say = new BareSql(pool, recordings['say']!);
const reply = new BareSql(pool, recordings['reply']!);
const queue = delivery && new BareQueue(options, delivery);
const listeners = new Map<string, Set<ServerResponse>>();

function show({ conversationId, payload }: Message, isBot: boolean): void {
  const frame = JSON.stringify({ type: 'message_created', data: { conversationId, payload, isBot } });
  for (const listener of listeners.get(conversationId) ?? [])
    listener.write(`event: message\nid: 1\ndata: ${frame}\n\n`);
}

type Deliver = (event: object) => Promise<number>;

function toUrl(id: string, botUrl: string): Deliver {
  const url = `${botUrl}/?${new URLSearchParams({ api: ownUrl, key: 'none' }).toString()}`;
  return (event) => postJson(url, { event }, { 'x-bot-id': id });
}

function toChild(id: string, bundle: string): Deliver {
  const env = { BP_API_URL: ownUrl, BP_TOKEN: 'none' };
  const child = fork('dist/bench/bare-child.js', [bundle], { env });
  const waiting = new Map<number, (status: number) => void>();
  child.on('message', ({ number, status }: BareAnswer) => {
    waiting.get(number)!(status);
    waiting.delete(number);
  });
  const headers = {
    ...{ 'x-bot-id': id, 'x-bot-user-id': id, 'x-bp-operation': 'event_received', 'x-bp-type': 'message_created' },
    'x-bp-configuration': Buffer.from(JSON.stringify({ payload: '{}' })).toString('base64'),
  };
  let sent = 0;
  return (event) =>
    new Promise((resolve) => {
      const number = ++sent;
      waiting.set(number, resolve);
      child.send({ number, headers, body: JSON.stringify({ event }) } satisfies BareCall);
    });
}

let deliverTo: Deliver;
async function call({ conversationId, payload }: Message, id: string): Promise<number> {
  const message = { id, type: 'text', payload, userId: 'user', conversationId, direction: 'incoming', tags: {} };
  const [user, conversation] = [{ id: 'user' }, { id: conversationId }];
  const content = { message, user, conversation, states: {} };
  const event = { id, type: 'message_created', status: 'pending', conversationId, userId: 'user', payload: content };
  return deliverTo(event);
}

async function callAndSettle(message: Message, id: string): Promise<void> {
  const status = await call(message, id);
  await pool.query({
    name: 'settle',
    text: 'UPDATE event SET status = $3 WHERE bot_id = $1 AND id = $2',
    values: [bot!.id, id, status === 200 ? 'processed' : 'failed'],
  });
}

let ownUrl: string;
const app = fastify();
app.post<{ Body: Message }>('/messages', async ({ body }, answer: FastifyReply) => {
  const ids = new Map<string, string>();
  const writing = say.run(body.conversationId, ids);
  // The ids are there at once. A batch of the queue may contain the event before its commit is known here.
  const idOf = (kind: string) => [...ids.values()].find((id) => id.startsWith(`${kind}_`))!;
  const [eventId, messageId] = [idOf('evt'), idOf('msg')];
  const { conversationId } = body;
  queue?.expect({ conversationId, eventId, messageId }, () => call(body, eventId));
  const written = await writing;
  show(body, false);
  if (queue) queue.announce();
  else void callAndSettle(body, eventId);
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
  deliverTo = 'url' in bot! ? toUrl(bot.id, bot.url) : toChild(bot!.id, bot!.bundle);
  process.stdout.write(`Listening at ${url}\n`);
});
