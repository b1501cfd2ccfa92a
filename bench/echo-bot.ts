import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { postJson } from './keep-alive';
import { toReplyText } from './round-trips';

// Server of a bot. The query of its url names the API (`api`) and a key (`key`): the bot answers each user's message
// there, and then the event. Without them it answers events at once.

interface Call {
  event?: { type: string; conversationId: string; payload: { message: { payload: { text: string } } } };
}

async function reply(url: URL, botId: string, { event }: Call): Promise<number> {
  const api = url.searchParams.get('api');
  if (!api || event?.type !== 'message_created') return 200;
  const { conversationId, payload } = event;
  const text = toReplyText(payload.message.payload.text);
  const message = { conversationId, userId: botId, type: 'text', payload: { text }, tags: {} };
  const headers = { authorization: `Bearer ${url.searchParams.get('key')}`, 'x-bot-id': botId };
  const status = await postJson(`${api}/v1/chat/messages`, message, headers);
  return status === 201 ? 200 : 500;
}

const server = createServer((message, response) => {
  const chunks: Buffer[] = [];
  message.on('data', (chunk: Buffer) => chunks.push(chunk));
  message.on('end', () => {
    const call = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Call;
    reply(new URL(message.url!, 'http://bot'), String(message.headers['x-bot-id']), call).then(
      (status) => response.writeHead(status, { 'content-type': 'application/json' }).end('{}'),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`Listening at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
