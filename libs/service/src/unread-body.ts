import type { FastifyRequest } from 'fastify';

/** How long a rejected client may go on sending, so that it reads the response rather than a connection reset. */
const lingerMs = 5_000;
/** Discarded at 100 MB/s at most, because receiving bytes takes time of the event loop. */
const pacedBytes = 1_000_000;
const paceMs = 10;

/** Call when the response is sent: discards the rest of the request body for a while, then closes the connection. */
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
