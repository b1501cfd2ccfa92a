import type { FastifyRequest } from 'fastify';

/** How long a client that was refused may go on sending, so that it reads the answer rather than a reset connection. */
const lingerMs = 5_000;
/** It is thrown away at no more than 100 MB a second, since all that arrives takes time of the event loop. */
const pacedBytes = 1_000_000;
const paceMs = 10;

/** Call when the answer is sent: what a refused client still sends is thrown away for a while, then it is cut off. */
export function cutUnread({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return;
  let bytes = 0;
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < pacedBytes) return;
    bytes = 0;
    raw.pause();
    setTimeout(() => raw.resume(), paceMs).unref();
  });
  raw.resume();
  const timer = setTimeout(() => raw.complete || raw.socket.destroy(), lingerMs).unref();
  raw.once('close', () => clearTimeout(timer));
}
