import type { MessagePort } from 'node:worker_threads';
import { type Chunk, type ChunkOptions, chunkStream } from '../chunking/chunker';
import type { Advice, Adviser } from '@parley/documents/adviser';
import { type Block, type Source, UnreadableDocument } from '@parley/documents/block';
import { chooseFormat } from '@parley/documents/choose-format';
import { labelledBlocks } from '@parley/documents/labelled-blocks';
import { parseDocument } from '@parley/documents/parse-document';
import { SeenPages } from '@parley/documents/seen-pages';

export interface ReadingTask extends ChunkOptions {
  bytes: Uint8Array;
  contentType: string;
  key: string;
  /** What the adviser is asked about; nothing by default. */
  advice?: Advice;
}

/** Chunks that follow one another. */
export interface Batch {
  chunks: Chunk[];
  /** How much of the document is read, from 0 to 1. */
  part: number;
}

/** A verb of the adviser with what it is asked about. The thread waits for the reply. */
export type Question = { [Verb in keyof Adviser]: { ask: Verb; about: Parameters<Adviser[Verb]>[0] } }[keyof Adviser];

/** What the thread says. Errors lose their class between threads: what is wrong with the document is an answer. */
export type Answer = 'started' | 'ended' | Batch | Question | { unreadable: string };

/** What the thread is told. */
export type Order = 'more' | { reply: unknown };

const chunksInBatch = 32;

/** Parses and chunks one document in a thread of its own. Each `more` to the port asks for one batch more. */
export default async function read({ port, ...task }: ReadingTask & { port: MessagePort }): Promise<void> {
  const reader = new Conversation(port);
  reader.say('started');
  try {
    for await (const batch of batches(task, reader.adviser)) {
      await reader.asked();
      reader.say(batch);
    }
    reader.say('ended');
  } catch (error) {
    if (!(error instanceof UnreadableDocument)) throw error;
    reader.say({ unreadable: error.message });
  } finally {
    reader.end();
  }
}

/** With whoever reads the document. */
class Conversation {
  readonly adviser: Adviser = {
    label: (about) => this.ask({ ask: 'label', about }) as ReturnType<Adviser['label']>,
    transcribe: (about) => this.ask({ ask: 'transcribe', about }) as ReturnType<Adviser['transcribe']>,
    describe: (about) => this.ask({ ask: 'describe', about }) as ReturnType<Adviser['describe']>,
  };
  private batchesAsked = 0;
  private onAsked?: () => void;
  private onReply?: (reply: unknown) => void;

  constructor(private readonly port: MessagePort) {
    port.on('message', this.hear);
  }

  say(answer: Answer): void {
    this.port.postMessage(answer);
  }

  /** Waits until one batch more is asked for. */
  async asked(): Promise<void> {
    if (this.batchesAsked === 0) await new Promise<void>((resolve) => (this.onAsked = resolve));
    this.batchesAsked--;
  }

  end(): void {
    this.port.off('message', this.hear);
  }

  private readonly hear = (order: Order): void => {
    if (order !== 'more') return this.onReply?.(order.reply);
    this.batchesAsked++;
    this.onAsked?.();
  };

  private ask(question: Question): Promise<unknown> {
    return new Promise((resolve) => {
      this.onReply = resolve;
      this.say(question);
    });
  }
}

async function* batches({ bytes, contentType, key, ...options }: ReadingTask, adviser: Adviser): AsyncGenerator<Batch> {
  let part = 0;
  const source = {
    bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    contentType,
    key,
    onProgress: (now: number) => (part = now),
  };
  let chunks: Chunk[] = [];
  for await (const chunk of allChunks(source, options, adviser)) {
    chunks.push(chunk);
    if (chunks.length < chunksInBatch) continue;
    yield { chunks, part };
    chunks = [];
  }
  if (chunks.length > 0) yield { chunks, part: 1 };
}

/** The chunks of the text, and after them what is seen on pages. */
async function* allChunks(
  source: Source,
  { advice = {}, ...options }: ChunkOptions & { advice?: Advice },
  adviser: Adviser,
): AsyncGenerator<Chunk> {
  const { transcribePages = false, indexPages = false } = advice.vision ?? {};
  const hasPages = (transcribePages || indexPages) && (await chooseFormat(source)).name === 'PDF';
  const pages = hasPages ? await SeenPages.open(source.bytes, adviser) : undefined;
  try {
    let blocks: AsyncIterable<Block> = parseDocument(source);
    if (pages) blocks = pages.transcribed(blocks, transcribePages);
    if (advice.labels) blocks = labelledBlocks(blocks, adviser);
    let position = 0;
    for await (const chunk of chunkStream(blocks, options)) {
      yield chunk;
      position = chunk.position + 1;
    }
    if (!pages) return;
    for await (const { pageNumber, text } of pages.described(indexPages)) {
      yield { type: 'image', subtype: 'page', content: text, pageNumber, position: position++, breadcrumb: [] };
    }
  } finally {
    await pages?.close();
  }
}
