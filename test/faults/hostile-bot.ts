import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';

const mebibyte = 1024 * 1024;
const hugeBytes = 1024 * mebibyte;
const gzipMember = gzipSync(Buffer.alloc(16 * mebibyte, 'a'));

const answers: Record<string, (response: ServerResponse, query: string) => unknown> = {
  /** JSON text of 1 GiB without content-length. */
  '/huge': (response) => send(response, repeated(Buffer.alloc(mebibyte, 'a'), hugeBytes / mebibyte)),
  /** Status line, then header lines until the caller closes the connection. */
  '/headers': ({ socket }) => {
    socket!.write('HTTP/1.1 200 OK\r\n');
    return send(socket!, repeated(Buffer.from(`x-filler: ${'a'.repeat(1000)}\r\n`)));
  },
  /** Status line, then one header line a second. */
  '/slow-headers': ({ socket }) => {
    socket!.write('HTTP/1.1 200 OK\r\n');
    everySecond(socket!, () => socket!.write('x-filler: a\r\n'));
  },
  /** Link-local address of the metadata services of clouds. */
  '/redirect': (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  /** 1 MiB that decompresses to 1 GiB. */
  '/gzip': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    return send(response, repeated(gzipMember, hugeBytes / (16 * mebibyte)));
  },
  /** Half of the announced length, then the end of the connection. */
  '/half': (response) => {
    response.writeHead(200, { 'content-length': 1000 });
    response.write('a'.repeat(500), () => response.socket!.destroySoon());
  },
  '/hang': () => undefined,
  /** Endless body of one byte a second. */
  '/slow': (response) => {
    response.writeHead(200);
    everySecond(response.socket!, () => response.write('a'));
  },
  '/500': (response) => response.writeHead(500).end('{"error":"hostile"}'),
  /** Harmless: answers after as much processor time as the query says, in milliseconds. */
  '/busy': (response, query) => {
    const start = process.cpuUsage();
    for (let us = 0; us < 1_000 * Number(query);) {
      const { user, system } = process.cpuUsage(start);
      us = user + system;
    }
    response.writeHead(200).end('{}');
  },
  '/reset': ({ socket }) => socket!.resetAndDestroy(),
  /** Resets a connection that carried an earlier request, of any path. */
  '/reset-reused': (response) => {
    if (reused.has(response.socket!)) response.socket!.resetAndDestroy();
    else response.writeHead(200).end('{}');
  },
};

const used = new WeakSet<Socket>();
const reused = new WeakSet<Socket>();

export interface HostileRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Server that answers as the path says, and with 200 and `{}` on other paths. It records its requests. */
export class HostileBot {
  readonly requests: HostileRequest[] = [];
  private readonly server = createServer((request, response) => {
    let body = '';
    request.on('data', (data: Buffer) => (body += data.toString('latin1')));
    request.on('end', () => {
      const path = request.url!;
      this.requests.push({ path, headers: request.headers, body });
      (used.has(request.socket) ? reused : used).add(request.socket);
      const [name, query = ''] = path.split('?') as [string, string?];
      const answer = answers[name];
      if (answer) answer(response, query);
      else response.writeHead(200).end('{}');
    });
  });

  static async start(): Promise<HostileBot> {
    const bot = new HostileBot();
    bot.server.listen(0, '127.0.0.1');
    await once(bot.server, 'listening');
    return bot;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Open connections of callers. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

function* repeated(chunk: Buffer, times = Infinity): Generator<Buffer> {
  for (let i = 0; i < times; i += 1) yield chunk;
}

/** Respects backpressure, and ends when the caller closes the connection. */
async function send(target: ServerResponse | Socket, chunks: Iterable<Buffer>): Promise<void> {
  await pipeline(Readable.from(chunks, { objectMode: true }), target).catch(() => undefined);
}

function everySecond(socket: Socket, write: () => void): void {
  const timer = setInterval(write, 1000);
  socket.once('close', () => clearInterval(timer));
}
