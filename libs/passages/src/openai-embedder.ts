import type { Calibration } from './calibration';
import { type Embedder, EmbedderBusy, EmbedderRefused, EmbedderUnavailable } from './embedder';
import { Semaphore } from '@parley/background/semaphore';
import { parseJson } from '@parley/openai/response';
import { type OpenAiServer, post } from '@parley/openai/post';
import { toUnit } from './vectors';

/** How a model wants a kind of text. */
export interface InputForm {
  /** Before each text, such as `query: `. */
  prefix?: string;
  /** Field `input_type` of the request. */
  inputType?: string;
}

export interface OpenAiEmbedderOptions {
  /** Address of the server, with or without `/v1`. */
  url: string;
  model: string;
  apiKey?: string;
  /** For models that tell queries from passages, such as E5, Cohere and Voyage. */
  query?: InputForm;
  passage?: InputForm;
  /** Ignored when it is that of another model. */
  calibration?: Calibration;
  batchSize?: number;
  /** Maximum number of characters per request; a single longer text is sent alone. */
  maxBatchCharacters?: number;
  timeoutMs?: number;
  /** Requests at once for passages, and as many for queries, which do not wait behind a re-index. */
  concurrency?: number;
}

const maxAnswerBytes = 32 * 1024 * 1024;

/** Client of servers with an OpenAI-compatible `POST /v1/embeddings`. Never retries; retries are up to the caller. */
export class OpenAiEmbedder implements Embedder {
  readonly model: string;
  readonly leastScore?: number;
  private readonly server: OpenAiServer;
  private readonly query: InputForm;
  private readonly passage: InputForm;
  private readonly batchSize: number;
  private readonly maxBatchCharacters: number;
  private readonly passageSlots: Semaphore;
  private readonly querySlots: Semaphore;
  private readonly closing = new AbortController();
  private knownDimensions?: number;

  constructor(options: OpenAiEmbedderOptions) {
    this.model = options.model;
    if (options.calibration?.model === options.model) this.leastScore = options.calibration.leastScore;
    this.server = {
      name: 'embedding server',
      url: options.url,
      apiKey: options.apiKey,
      timeoutMs: options.timeoutMs ?? 30_000,
      maxResponseBytes: maxAnswerBytes,
      errors: { Busy: EmbedderBusy, Refused: EmbedderRefused, Unavailable: EmbedderUnavailable },
    };
    this.query = options.query ?? {};
    this.passage = options.passage ?? {};
    this.batchSize = options.batchSize ?? 32;
    this.maxBatchCharacters = options.maxBatchCharacters ?? 32_000;
    this.passageSlots = new Semaphore(options.concurrency ?? 4);
    this.querySlots = new Semaphore(options.concurrency ?? 4);
  }

  /** Learned from the first answer; throws before. */
  get dimensions(): number {
    if (!this.knownDimensions) throw new EmbedderUnavailable('The embedding server has not answered yet.');
    return this.knownDimensions;
  }

  async ready(): Promise<void> {
    await this.embed(['ready']);
  }

  async embed(texts: string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const { prefix = '', inputType } = this.passage;
    const batches = this.toBatches(texts.map((text) => prefix + text));
    const vectors = await this.passageSlots.map(batches, (batch) => this.request(batch, inputType, signal), signal);
    return vectors.flat();
  }

  async embedQuery(query: string, signal?: AbortSignal): Promise<Float32Array> {
    const { prefix = '', inputType } = this.query;
    const request = () => this.request([prefix + query], inputType, signal);
    const [vector] = await this.querySlots.run(request, signal);
    return vector!;
  }

  async close(): Promise<void> {
    this.closing.abort(new EmbedderUnavailable('The embedder is closed.'));
  }

  private toBatches(texts: string[]): string[][] {
    const batches: string[][] = [];
    let characters = Infinity;
    for (const text of texts) {
      const batch = batches.at(-1);
      characters += text.length;
      if (batch && batch.length < this.batchSize && characters <= this.maxBatchCharacters) {
        batch.push(text);
      } else {
        batches.push([text]);
        characters = text.length;
      }
    }
    return batches;
  }

  private async request(batch: string[], inputType?: string, signal?: AbortSignal): Promise<Float32Array[]> {
    const ending = signal ? AbortSignal.any([signal, this.closing.signal]) : this.closing.signal;
    const input = { model: this.model, input: batch, ...(inputType !== undefined && { input_type: inputType }) };
    const body = await post(this.server, 'embeddings', input, ending);
    return this.toVectors(body, batch.length);
  }

  private toVectors(body: string, count: number): Float32Array[] {
    const data = dataOf(body);
    if (data.length !== count) throw unavailable(`answered with ${data.length} embeddings for ${count} texts`);
    const vectors: Float32Array[] = [];
    for (const { index, embedding } of data) {
      if (!Number.isInteger(index) || index < 0 || index >= count || vectors[index]) {
        throw unavailable('answered with embeddings whose "index" is missing, repeated or out of range');
      }
      vectors[index] = this.toVector(embedding);
    }
    return vectors;
  }

  private toVector(embedding: unknown): Float32Array {
    if (!Array.isArray(embedding) || embedding.length === 0 || !embedding.every((value) => Number.isFinite(value))) {
      throw unavailable('answered with an embedding that is not a non-empty list of numbers');
    }
    this.knownDimensions ??= embedding.length;
    if (embedding.length !== this.knownDimensions) {
      throw unavailable(`answered with ${embedding.length} dimensions instead of ${this.knownDimensions}`);
    }
    const unit = toUnit(Float32Array.from(embedding as number[]));
    if (!unit) throw unavailable('answered with a zero or non-finite embedding');
    return unit;
  }
}

function unavailable(what: string): EmbedderUnavailable {
  return new EmbedderUnavailable(`The embedding server ${what}.`);
}

function dataOf(body: string): { index: number; embedding: unknown }[] {
  const data = (parseJson(body) as { data?: unknown } | null)?.data;
  const isList = Array.isArray(data) && data.every((entry) => typeof entry === 'object' && entry !== null);
  if (!isList) throw unavailable('answered with something that is not a list of embeddings');
  return data as { index: number; embedding: unknown }[];
}
