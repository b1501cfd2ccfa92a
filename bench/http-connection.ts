import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');

/**
 * Minimal HTTP/1.1 keep-alive connection with one request at a time. It only finds the end of an answer: client cost is
 * added to both sides of a comparison and pulls their ratio towards 1.
 */
export class HttpConnection {
  bodyBytes = 0;
  private received: Buffer = Buffer.alloc(0);
  private waiting?: { resolve: (status: number) => void; reject: (error: Error) => void };

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('The server closed the connection.')));
  }

  static async open(url: string): Promise<HttpConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new HttpConnection(socket);
  }

  /** Resolves with the status when the whole answer has arrived. */
  send(request: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.socket.write(request);
    });
  }

  close(): void {
    this.waiting = undefined;
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    const head = this.received.indexOf(headEnd);
    if (head < 0) return;
    const text = this.received.toString('latin1', 0, head);
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    if (length === undefined) return this.fail(new Error(`The answer has no content-length:\n${text}`));
    if (this.received.length < head + headEnd.length + Number(length)) return;
    this.received = Buffer.alloc(0);
    this.bodyBytes += Number(length);
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.resolve(Number(text.slice(9, 12)));
  }

  private fail(error: Error): void {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.reject(error);
  }
}
