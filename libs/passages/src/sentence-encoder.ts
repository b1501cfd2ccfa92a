import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { NativeCalls } from './native-calls';
import { SentencePieceTokenizer, type TokenizerModel } from './sentence-piece-tokenizer';
import { dimensions, TokenTable } from './token-table';

const model = join(__dirname, '../model');
const sumWidth = 1_280;
/** Tokens on each side that change the features of a token: two layers of windows that reach two tokens far. */
const reach = 4;

/**
 * Tokens that the graph takes at once, so that memory does not grow with the text. Measured: 1,024 are at most 5 %
 * faster, and take 25 MB more.
 */
const blockTokens = 256;

/**
 * Universal Sentence Encoder multilingual 3. A text of any length has one vector of all its tokens: convolutions see nearby
 * tokens only and are then summed, so blocks with their neighbours give the same sum as the whole text.
 */
export class SentenceEncoder {
  static async open(table: SharedArrayBuffer, calls: NativeCalls): Promise<SentenceEncoder> {
    const [tokenizer, graph] = await Promise.all(['tokenizer.json.gz', 'encoder.onnx.gz'].map(readCompressed));
    const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
    const session = await calls.run(() => InferenceSession.create(graph!, options));
    return new SentenceEncoder(
      new SentencePieceTokenizer(JSON.parse(tokenizer!.toString()) as TokenizerModel),
      session,
      new TokenTable(table),
      calls,
    );
  }

  private constructor(
    private readonly tokenizer: SentencePieceTokenizer,
    private readonly session: InferenceSession,
    private readonly table: TokenTable,
    private readonly calls: NativeCalls,
  ) {}

  /** Vector of a text, which is not of unit length. */
  async encode(text: string): Promise<Float32Array> {
    const ids = this.tokenizer.encode(text);
    let previous = new Tensor('float32', new Float32Array(sumWidth), [1, sumWidth]);
    for (let start = 0; ; start += blockTokens) {
      const end = Math.min(ids.length, start + blockTokens);
      const first = Math.max(0, start - reach);
      const input = {
        tokens: this.vectorsOf(ids.slice(first, end + reach)),
        start: integer(start - first),
        end: integer(end - first),
        previous,
        count: new Tensor('float32', [end], [1]),
      };
      const { sum, vector } = await this.calls.run(() => this.session.run(input));
      if (end === ids.length) return vector!.data as Float32Array;
      previous = sum as typeof previous;
    }
  }

  private vectorsOf(ids: number[]): Tensor {
    const vectors = new Float32Array(ids.length * dimensions);
    for (const [i, id] of ids.entries()) this.table.copyVector(id, vectors, i * dimensions);
    return new Tensor('float32', vectors, [1, ids.length, dimensions]);
  }
}

function integer(value: number): Tensor {
  return new Tensor('int64', [value], [1]);
}

async function readCompressed(name: string): Promise<Buffer> {
  return promisify(gunzip)(await readFile(join(model, name)));
}
