import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { httpRequest } from './load';

const headEnd = '\r\n\r\n';
const mark = /@(\d{8})@/g;
const markLength = 10;

/** Stands in the text of a message, so that its frame is known without reading all of it. */
export function markOf(number: number): string {
  return `@${String(number).padStart(8, '0')}@`;
}

/**
 * A stream of server-sent events that tells which marks arrive. It reads nothing else of the frames, since whatever the
 * client costs is taken from what is measured.
 */
export class SseConnection {
  private rest = '';

  private constructor(
    private readonly socket: Socket,
    private readonly onMark: (number: number) => void,
  ) {
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    // A stream that breaks does not hear all, which is noticed.
    socket.on('error', () => undefined);
  }

  /** Resolves when it is open; throws when the answer is another than 200. */
  static async open(
    url: string,
    path: string,
    headers: Record<string, string>,
    onMark: (number: number) => void,
  ): Promise<SseConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(httpRequest(`GET ${path}`, { ...headers, accept: 'text/event-stream' }));
    const [head] = (await once(socket, 'data')) as [Buffer];
    const text = head.toString('latin1');
    if (!text.startsWith('HTTP/1.1 200 ') || !text.includes(headEnd)) {
      socket.destroy();
      throw new Error(`A stream was answered by:\n${text}`);
    }
    return new SseConnection(socket, onMark);
  }

  close(): void {
    this.socket.destroy();
  }

  private read(chunk: Buffer): void {
    const text = this.rest + chunk.toString('latin1');
    let end = 0;
    for (const found of text.matchAll(mark)) {
      end = found.index + markLength;
      this.onMark(Number(found[1]));
    }
    // A mark may come in two pieces.
    this.rest = text.slice(Math.max(end, text.length - markLength + 1));
  }
}
