import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LoopbackRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  /** Parsed JSON if the content type is JSON, otherwise undefined. */
  body: unknown;
  bytes: Buffer;
}

export type RequestHandler = (request: LoopbackRequest, response: ServerResponse) => void | Promise<void>;

/** HTTP server on a free port of the loopback address, which records its requests. */
export class LoopbackServer {
  readonly requests: LoopbackRequest[] = [];
  private readonly server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const { pathname, searchParams } = new URL(message.url!, 'http://localhost');
      const bytes = Buffer.concat(chunks);
      const isJson = message.headers['content-type']?.includes('json') && bytes.length > 0;
      const request = {
        method: message.method!,
        path: pathname,
        query: Object.fromEntries(searchParams),
        headers: message.headers,
        body: isJson ? (JSON.parse(bytes.toString()) as unknown) : undefined,
        bytes,
      };
      this.requests.push(request);
      void this.answer(request, response);
    });
  });

  private constructor(private readonly answer: RequestHandler) {}

  static async start(answer: RequestHandler): Promise<LoopbackServer> {
    const loopback = new LoopbackServer(answer);
    loopback.server.listen(0, '127.0.0.1');
    await once(loopback.server, 'listening');
    return loopback;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Lets the process end while this server is open. */
  unref(): void {
    this.server.unref();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): RequestHandler {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}
