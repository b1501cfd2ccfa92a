import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Headers = Record<string, string | number>;

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Raw TCP client, not bound to the rules of HTTP. */
export class RawClient {
  private received = Buffer.alloc(0);
  private onChange: () => void = () => undefined;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (data: Buffer) => {
      this.received = Buffer.concat([this.received, data]);
      this.onChange();
    });
    socket.on('close', () => this.onChange());
    // The missing answer shows that the connection broke.
    socket.on('error', () => undefined);
  }

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  get isClosed(): boolean {
    return this.socket.closed;
  }

  send(data: string): void {
    if (this.socket.writable) this.socket.write(data);
  }

  /** Half-closes the connection: sends nothing more, but still reads. */
  hangUp(): void {
    this.socket.end();
  }

  vanish(): void {
    if (!this.isClosed) this.socket.resetAndDestroy();
  }

  /** Next complete answer; undefined when the connection closes before. */
  async answer(): Promise<RawAnswer | undefined> {
    for (;;) {
      const found = readAnswer(this.received);
      if (found) {
        this.received = this.received.subarray(found.length);
        return found.answer;
      }
      if (this.isClosed) return undefined;
      await new Promise<void>((resolve) => (this.onChange = resolve));
    }
  }
}

/** HTTP request as text, with as much of the body as given. */
export function rawRequest(method: string, url: string, headers: Headers = {}, body = ''): string {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${pathname}${search} HTTP/1.1`, ...lines, '', body].join('\r\n');
}

/** First complete answer and its length in bytes. Our answers all have a content-length. */
function readAnswer(received: Buffer): { answer: RawAnswer; length: number } | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine, ...lines] = received.subarray(0, end).toString().split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => line.split(/: */, 2) as [string, string]));
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (received.length < length) return undefined;
  const body = received.subarray(end + 4, length).toString();
  return { answer: { status: Number(statusLine!.split(' ')[1]), headers, body }, length };
}
