import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 100;
const probeTimeoutMs = 5_000;

export interface Attempt {
  requestId: string;
  backend: string;
}

interface Backend {
  url: string;
  agent: Agent;
  isReady: boolean;
}

interface UpstreamResponse {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

interface BackendError extends Error {
  code?: string;
  wasReused?: boolean;
}

class NobodyReady extends Error {}

/** Load balancer: probes `/readyz`, shares requests between ready replicas over keep-alive connections. Buffers bodies. */
export class Balancer {
  /** Attempts on a connection that the backend was closing as idle. They were retried; none may have reached a process. */
  readonly idleResets: Attempt[] = [];
  /** Attempts on a backend that has stopped listening since its last probe; they were retried. */
  readonly refused: Attempt[] = [];
  private readonly backends: Backend[];
  private readonly stopping = new AbortController();
  private turn = 0;

  private constructor(
    private readonly server: Server,
    urls: string[],
  ) {
    this.backends = urls.map((url) => ({ url, agent: new Agent({ keepAlive: true }), isReady: false }));
    server.on('request', (request, response) => void this.forward(request, response));
    for (const backend of this.backends) void this.follow(backend);
  }

  static async start(urls: string[]): Promise<Balancer> {
    const server = createServer({ keepAliveTimeout: 0 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Balancer(server, urls);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get readyCount(): number {
    return this.backends.filter(({ isReady }) => isReady).length;
  }

  async allReady(): Promise<void> {
    while (this.readyCount < this.backends.length) await sleep(20);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
    this.backends.forEach(({ agent }) => agent.destroy());
  }

  private async follow(backend: Backend): Promise<void> {
    while (!this.stopping.signal.aborted) {
      backend.isReady = await isReady(backend);
      await sleep(pollMs);
    }
  }

  private async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request).catch(() => undefined);
    if (!body) return;
    try {
      const { status, headers, body: answer } = await this.ask(request, body);
      response.writeHead(status, endToEnd(headers, answer)).end(answer);
    } catch (error) {
      if (error instanceof NobodyReady) {
        response.writeHead(503, { 'retry-after': '1' }).end(JSON.stringify({ code: 503, message: error.message }));
        return;
      }
      // 502 lets tests distinguish a broken connection to the backend from an answer.
      response.writeHead(502, { 'content-type': 'text/plain' }).end(`balancer: ${String(error)}`);
    }
  }

  /** Retries with another backend only if no process can have received the request. */
  private async ask(request: IncomingMessage, body: Buffer): Promise<UpstreamResponse> {
    const id = String(request.headers['x-request-id'] ?? randomUUID());
    for (let tries = 0; ; tries += 1) {
      const backend = this.next();
      const requestId = tries === 0 ? id : `${id}.${tries}`;
      try {
        return await send(backend, request, { ...request.headers, 'x-request-id': requestId }, body);
      } catch (error) {
        const attempts = this.attemptsThatDidNothing(error as BackendError);
        attempts?.push({ requestId, backend: backend.url });
        if (!attempts || tries === 2 * this.backends.length)
          throw new Error(`${backend.url}: ${String(error)}`, { cause: error });
      }
    }
  }

  /** List for an attempt that reached no process; undefined when it may have. */
  private attemptsThatDidNothing({ code, wasReused }: BackendError): Attempt[] | undefined {
    if (code === 'ECONNREFUSED') return this.refused;
    return wasReused && (code === 'ECONNRESET' || code === 'EPIPE') ? this.idleResets : undefined;
  }

  private next(): Backend {
    const ready = this.backends.filter(({ isReady }) => isReady);
    this.turn += 1;
    const backend = ready[this.turn % ready.length];
    if (!backend) throw new NobodyReady('no replica is ready');
    return backend;
  }
}

function isReady({ url, agent }: Backend): Promise<boolean> {
  return new Promise((resolve) => {
    const request = httpRequest(`${url}/readyz`, { agent, signal: AbortSignal.timeout(probeTimeoutMs) });
    request.once('error', () => resolve(false));
    request.once('response', (response) => {
      response.resume();
      response.once('error', () => resolve(false));
      response.once('end', () => resolve(response.statusCode === 200));
    });
    request.end();
  });
}

function send(
  { url, agent }: Backend,
  { method, url: path }: IncomingMessage,
  headers: OutgoingHttpHeaders,
  body: Buffer,
): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, { method, agent, headers: endToEnd(headers, body) });
    const fail = (error: Error) => reject(Object.assign(error, { wasReused: request.reusedSocket }));
    request.once('error', fail);
    request.once('response', (response) => {
      // A truncated answer is a lost request, even on a reused connection.
      buffer(response).then(
        (answer) => resolve({ status: response.statusCode ?? 502, headers: response.headers, body: answer }),
        reject,
      );
    });
    request.end(body);
  });
}

/** Removes hop-by-hop headers: RFC 9110, section 7.6.1. */
function endToEnd(headers: OutgoingHttpHeaders, body: Buffer): OutgoingHttpHeaders {
  const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...others } = headers;
  return { ...others, 'content-length': body.length };
}
