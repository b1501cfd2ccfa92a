import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports that Linux (32768) and others give to outgoing connections and to whoever asks for any port. */
const firstPort = 10_000;
const perWorker = 2_000;
const workerCount = 11;

const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % workerCount;
let count = randomInt(perWorker);

/**
 * A port of the loopback address on which nothing listens: for who must know it before its server starts, or keeps it while
 * the server is away. Nothing else takes it meanwhile: each worker of a run has ports of its own, and gives none out twice
 * before all others.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < perWorker; tries += 1) {
    const port = firstPort + worker * perWorker + (count++ % perWorker);
    if (await isFree(port)) return port;
  }
  throw new Error(`All ports from ${firstPort + worker * perWorker} on are taken: ${perWorker} were tried.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
