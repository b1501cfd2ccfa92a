import { parentPort, workerData } from 'node:worker_threads';
import { NativeCalls } from './native-calls';
import { SentenceEncoder } from './sentence-encoder';

const { table, calls } = workerData as { table: SharedArrayBuffer; calls: SharedArrayBuffer };
const opening = SentenceEncoder.open(table, new NativeCalls(calls));

// An error here ends the thread; bundled-embedder.ts starts another.
parentPort!.on('message', (text: string) => {
  void (async () => {
    const vector = await (await opening).encode(text);
    parentPort!.postMessage(vector);
  })();
});
