import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ephemeral ports, which start at 32768 on Linux. */
const firstPort = 10_000;
const perWorker = 2_000;
const workerCount = 11;

const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % workerCount;
let count = randomInt(perWorker);

/**
 * Free port of the loopback address, for servers that need it before their start or keep it across a restart. No race:
 * each jest worker has its own range, and uses all of it before it repeats a port.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < perWorker; tries += 1) {
    const port = firstPort + worker * perWorker + (count++ % perWorker);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port found: all ${perWorker} ports from ${firstPort + worker * perWorker} on are in use.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
