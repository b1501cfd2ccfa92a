import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ModelRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: { model: string; messages: Record<string, unknown>[]; stream?: boolean; [field: string]: unknown };
  /** Form in place of a JSON body. */
  form?: FormData;
  /** Resolves when the client closes the connection before the end of the response. */
  aborted: Promise<void>;
}

export type ModelAnswer = (request: ModelRequest, response: ServerResponse) => void | Promise<void>;

/** Server with the API of OpenAI, whose answers a test chooses. Records the requests for completions. */
export class ModelServer {
  readonly requests: ModelRequest[] = [];
  answer: ModelAnswer = answerWith('hello');

  private constructor(
    private readonly server: Server,
    readonly models: string[],
  ) {}

  static async start(models: string[] = ['gpt-4.1-mini']): Promise<ModelServer> {
    const server = createServer((request, response) => void modelServer.take(request, response));
    const modelServer = new ModelServer(server, models);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return modelServer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    if (path === '/v1/models') return void sendJson(response, { data: this.models.map((id) => ({ id })) });
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const content = Buffer.concat(parts);
    const type = request.headers['content-type'] ?? '';
    const isForm = type.startsWith('multipart/form-data');
    const aborted = new Promise<void>((resolve) =>
      response.once('close', () => !response.writableFinished && resolve()),
    );
    const taken: ModelRequest = {
      ...{ path, headers: request.headers, aborted },
      body: (isForm ? {} : JSON.parse(content.toString())) as ModelRequest['body'],
      form: isForm ? await new Response(content, { headers: { 'content-type': type } }).formData() : undefined,
    };
    this.requests.push(taken);
    await this.answer(taken, response);
  }
}

interface Answered {
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  finish?: string;
  toolCalls?: object[];
}

const defaultUsage = { prompt_tokens: 10, completion_tokens: 5 };

/** Answers with this text, whole or as a stream of its words. */
export function answerWith(
  content: string,
  { usage = defaultUsage, finish = 'stop', toolCalls }: Answered = {},
): ModelAnswer {
  return ({ body }, response) => {
    if (!body.stream) {
      const message = { role: 'assistant', content, tool_calls: toolCalls };
      const choices = [{ index: 0, message, finish_reason: finish }];
      return sendJson(response, { id: 'c1', object: 'chat.completion', model: body.model, choices, usage });
    }
    beginStream(response);
    for (const word of content.match(/\S+\s*/g) ?? []) sendChunk(response, { content: word });
    if (toolCalls) sendChunk(response, { tool_calls: toolCalls.map((call, index) => ({ index, ...call })) });
    sendChunk(response, {}, finish);
    if (usage) sendEvent(response, { choices: [], usage });
    response.end('data: [DONE]\n\n');
  };
}

/** Answers with these bytes, in parts. */
export function answerBytes(type: string, ...parts: Uint8Array[]): ModelAnswer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': type });
    for (const part of parts) response.write(part);
    response.end();
  };
}

export function answerJson(body: object): ModelAnswer {
  return (_request, response) => sendJson(response, body);
}

export function failWith(status: number, error: object = { message: `failure ${status}` }): ModelAnswer {
  return (_request, response) => sendJson(response, { error }, status);
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
}

export function sendChunk(response: ServerResponse, delta: object, finish: string | null = null): void {
  sendEvent(response, {
    id: 'c1',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
}

function sendEvent(response: ServerResponse, event: object): void {
  response.write(`data: ${JSON.stringify(event)}\n\n`);
}

export function sendJson(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
