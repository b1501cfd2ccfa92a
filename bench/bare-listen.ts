import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import fastify from 'fastify';
import { type BareOperations, BareSql, openPool } from './bare-sql';

// Baseline: the minimal server that writes a message and notifies its listeners, Fastify and `pg` in one process
// without a bus.

interface Message {
  conversationId: string;
  payload: object;
}

const options = JSON.parse(readFileSync(process.env['BARE_OPTIONS_FILE'] ?? '', 'utf8')) as BareOperations;
const recording = options.recordings['say']!;
const sql = new BareSql(openPool(options, options.schema), recording);
const { message: model } = recording.answer as { message: object };
const listeners = new Map<string, Set<ServerResponse>>();

const app = fastify();
app.post<{ Body: Message }>('/messages', async ({ body }, reply) => {
  const { conversationId, payload } = body;
  const answer = await sql.run(conversationId);
  const frame = JSON.stringify({ type: 'message_created', data: { ...model, conversationId, payload, isBot: false } });
  for (const listener of listeners.get(conversationId) ?? [])
    listener.write(`event: message\nid: 1\ndata: ${frame}\n\n`);
  return reply.code(201).send(answer);
});
app.get<{ Params: { id: string } }>('/conversations/:id/listen', ({ params: { id } }, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  reply.raw.flushHeaders();
  const here = listeners.get(id) ?? new Set();
  listeners.set(id, here.add(reply.raw));
  reply.raw.once('close', () => here.delete(reply.raw));
});
void app.listen({ host: '127.0.0.1', port: 0 }).then((url) => process.stdout.write(`Listening at ${url}\n`));
