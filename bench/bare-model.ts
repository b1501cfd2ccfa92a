import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { SentencePieceTokenizer, type TokenizerModel } from '@parley/passages/sentence-piece-tokenizer';

// Baseline: bare onnxruntime with the graph of the bundled model, one session per thread. A POST of texts is answered when all
// have been through it, each in one piece, with random vectors for its tokens.

const folder = join(__dirname, '../libs/passages/model');
const [dimensions, sumWidth, maxTokens] = [512, 1_280, 4_096];
const random = Float32Array.from({ length: maxTokens * dimensions }, () => Math.random() - 0.5);

if (isMainThread) serve(Number(process.env['THREADS']));
else embed();

function serve(threads: number): void {
  const tokenizer = new SentencePieceTokenizer(JSON.parse(read('tokenizer.json.gz').toString()) as TokenizerModel);
  const workers = Array.from({ length: threads }, () => new Worker(__filename));
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    void (async () => {
      const texts = (await json(request)) as string[];
      // Tokens are counted once, since a round must not measure the tokeniser.
      for (const text of texts) if (!counts.has(text)) counts.set(text, tokenizer.encode(text).length);
      const lengths = texts.map((text) => counts.get(text)!).values();
      await Promise.all(workers.map((worker) => work(worker, lengths)));
      response.end();
    })();
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`Listening at http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`);
  });
}

async function work(worker: Worker, lengths: Iterator<number> & Iterable<number>): Promise<void> {
  for (const length of lengths) {
    const embedded = new Promise((resolve) => worker.once('message', resolve));
    worker.postMessage(length);
    await embedded;
  }
}

function embed(): void {
  const opening = InferenceSession.create(read('encoder.onnx.gz'), { intraOpNumThreads: 1, interOpNumThreads: 1 });
  parentPort!.on('message', (length: number) => {
    void (async () => {
      const { vector } = await (await opening).run(inputOf(length));
      parentPort!.postMessage(vector!.data);
    })();
  });
}

function inputOf(length: number): Record<string, Tensor> {
  return {
    tokens: new Tensor('float32', random.subarray(0, length * dimensions), [1, length, dimensions]),
    start: new Tensor('int64', [0], [1]),
    end: new Tensor('int64', [length], [1]),
    previous: new Tensor('float32', new Float32Array(sumWidth), [1, sumWidth]),
    count: new Tensor('float32', [length], [1]),
  };
}

function read(name: string): Buffer {
  return gunzipSync(readFileSync(join(folder, name)));
}
