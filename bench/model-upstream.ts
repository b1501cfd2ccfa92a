import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { toToken } from './token-stream';

// Server with OpenAI's API that paces its answers: the user's message is a Pace. Each token of a stream carries the time at
// which it was due. Also the baseline: the same client without Parley.

/** First token after `thinkMs`, then one every `everyMs`. */
export interface Pace {
  thinkMs: number;
  everyMs: number;
  tokens: number;
}

interface Asked {
  messages: { content: string }[];
  stream?: boolean;
}

const usage = { prompt_tokens: 20, completion_tokens: 20, total_tokens: 40 };
const common = { id: 'chatcmpl-1', created: 1, model: 'paced' };

const server = createServer((request, response) => {
  if (request.url === '/v1/models') return void response.end(JSON.stringify({ data: [{ id: 'paced' }] }));
  void (async () => {
    const { messages, stream } = (await json(request)) as Asked;
    if (stream) return pour(response, JSON.parse(messages[0]!.content) as Pace);
    const message = { role: 'assistant', content: 'The sea is wide and blue.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    const body = JSON.stringify({ ...common, object: 'chat.completion', choices, usage });
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  })();
});

function pour(response: ServerResponse, { thinkMs, everyMs, tokens }: Pace): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const firstAt = performance.timeOrigin + performance.now() + thinkMs;
  let number = 0;
  const send = () => {
    const dueAt = firstAt + number * everyMs;
    const early = dueAt - performance.timeOrigin - performance.now();
    if (early > 0.5) return void setTimeout(send, early);
    if (response.destroyed) return;
    if (number++ < tokens) {
      response.write(eventOf({ index: 0, delta: { content: toToken(dueAt) }, finish_reason: null }));
      return send();
    }
    response.write(eventOf({ index: 0, delta: {}, finish_reason: 'stop' }));
    response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices: [], usage })}\n\n`);
    response.end('data: [DONE]\n\n');
  };
  send();
}

function eventOf(choice: object): string {
  return `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices: [choice] })}\n\n`;
}

// Parley is suspended while the bare provider is measured: it would not notice a closed connection.
server.keepAliveTimeout = 3_600_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`Listening at http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`);
});
