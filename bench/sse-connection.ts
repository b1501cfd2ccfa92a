import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { httpRequest } from './load';

const headEnd = '\r\n\r\n';
const mark = /@(\d{8})@/g;
const markLength = 10;

/** Marker in the text of a message, by which its frame is recognised without parsing. */
export function markOf(number: number): string {
  return `@${String(number).padStart(8, '0')}@`;
}

/**
 * Server-sent events stream that only reports the markers that arrive. It parses nothing else, because client cost
 * reduces the measured figures.
 */
export class SseConnection {
  private rest = '';

  private constructor(
    private readonly socket: Socket,
    private readonly onMark: (number: number) => void,
  ) {
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    // A broken stream misses frames, which is reported as an error.
    socket.on('error', () => undefined);
  }

  /** Resolves when the stream is open; throws for a status other than 200. */
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
      throw new Error(`The stream was refused:\n${text}`);
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
    // A marker may be split between two chunks.
    this.rest = text.slice(Math.max(end, text.length - markLength + 1));
  }
}
