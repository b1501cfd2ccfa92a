import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Response of the server: a text, at once or later, a status, an invalid body, or none. */
export type CompletionResponse =
  | { text: string; after?: Promise<unknown> }
  | { status: number; message: string; code?: string; headers?: Record<string, string> }
  | 'garbage'
  | 'never';

export interface CompletionRequest {
  headers: IncomingMessage['headers'];
  model: string;
  max_completion_tokens?: number;
  messages: { role: string; content: string | CompletionPart[] }[];
}

export type CompletionPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

/** Fake of an OpenAI-compatible completion server, which fails on demand. */
export class CompletionServer {
  readonly requests: CompletionRequest[] = [];
  /** Answers requests without an order. By default with the end of the request's text. */
  answer: (request: CompletionRequest) => CompletionResponse = (request) => ({
    text: `answer to ${textOf(request).slice(-20)}`,
  });
  private readonly orders: CompletionResponse[] = [];

  private constructor(
    private readonly server: Server,
    private readonly models: string[],
  ) {}

  static async start(models = ['gpt-4.1-mini', 'gpt-4.1-nano', 'gpt-4.1']): Promise<CompletionServer> {
    const server = createServer();
    const completions = new CompletionServer(server, models);
    server.on('request', (request, response) => void completions.receive(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return completions;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  order(...answers: CompletionResponse[]): void {
    this.orders.push(...answers);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/v1/models') {
      return void response.end(JSON.stringify({ data: this.models.map((id) => ({ id })) }));
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Omit<CompletionRequest, 'headers'>;
    const asked = { headers: request.headers, ...body };
    this.requests.push(asked);
    const order = this.orders.shift() ?? this.answer(asked);
    if (order === 'never') return;
    if (order === 'garbage') return void response.end('<html>Welcome</html>');
    if ('status' in order)
      return void response
        .writeHead(order.status, order.headers)
        .end(JSON.stringify({ error: { message: order.message, code: order.code } }));
    await order.after;
    const message = { role: 'assistant', content: order.text };
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  }
}

export function textOf({ messages }: CompletionRequest): string {
  const content = messages.at(-1)?.content ?? '';
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

export function imagesOf({ messages }: CompletionRequest): Buffer[] {
  const content = messages.at(-1)?.content ?? '';
  if (typeof content === 'string') return [];
  return content.flatMap((part) =>
    part.type === 'image_url' ? [Buffer.from(part.image_url.url.split(',')[1] ?? '', 'base64')] : [],
  );
}
