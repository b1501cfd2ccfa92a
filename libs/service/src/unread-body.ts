import type { FastifyRequest } from 'fastify';

/** How long a client that was refused may go on sending, so that it reads the answer rather than a reset connection. */
const lingerMs = 5_000;

/** Call when the answer is sent: what a refused client still sends is thrown away for a while, then it is cut off. */
export function cutUnread({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return;
  raw.resume();
  const timer = setTimeout(() => raw.complete || raw.socket.destroy(), lingerMs).unref();
  raw.once('close', () => clearTimeout(timer));
}
