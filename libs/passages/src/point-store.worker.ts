import { parentPort } from 'node:worker_threads';
import { PointStore } from './point-store';
import type { ScanCall, ScanReply } from './scan-thread';

const store = new PointStore() as unknown as Record<string, (...input: unknown[]) => unknown>;

// An error ends neither the thread nor what it holds.
parentPort!.on('message', ({ id, name, input }: ScanCall) => {
  parentPort!.postMessage(reply(id, name, input));
});

function reply(id: number, name: string, input: unknown[]): ScanReply {
  try {
    return { id, output: store[name]!(...input) };
  } catch (error) {
    return { id, error };
  }
}
