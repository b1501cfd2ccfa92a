import { once } from 'node:events';
import { connect } from 'node:net';

const mark = /@(\d{16})@/g;
const markLength = 18;

/** Token with the time at which it was due, by which a client recognises it without parsing. */
export function toToken(dueAtMs: number): string {
  return `@${String(Math.round(1_000 * dueAtMs)).padStart(16, '0')}@ `;
}

export interface Poured {
  /** Lateness of each token. */
  lateMs: number[];
  /** From the request to the first token. */
  firstMs: number;
}

/** Reads one streamed answer on a connection of its own. Throws for a status other than 200. */
export async function readTokens(url: string, request: string): Promise<Poured> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setNoDelay(true);
  await once(socket, 'connect');
  const lateMs: number[] = [];
  let firstMs = NaN;
  let rest = '';
  let problem: string | undefined;
  const start = performance.now();
  socket.on('data', (chunk: Buffer) => {
    const text = rest + chunk.toString('latin1');
    if (text.startsWith('HTTP/1.1 ') && !text.startsWith('HTTP/1.1 200')) problem ??= text;
    let end = 0;
    const now = performance.now();
    for (const found of text.matchAll(mark)) {
      end = found.index + markLength;
      if (lateMs.length === 0) firstMs = now - start;
      lateMs.push(performance.timeOrigin + now - Number(found[1]) / 1_000);
    }
    // A token may be split between two chunks. The connection closes after the answer.
    rest = text.slice(Math.max(end, text.length - markLength + 1));
  });
  socket.write(request);
  await once(socket, 'close');
  if (problem !== undefined || lateMs.length === 0) throw new Error(`The stream was refused:\n${problem ?? rest}`);
  return { lateMs, firstMs };
}
