import { ChildData, endWithParent, isMemoryError } from '@parley/child-processes/in-child';
import type { Advice, Adviser } from '@parley/documents/adviser';
import {
  type Block,
  DocumentWithoutText,
  type OnReading,
  type Source,
  UnreadableDocument,
} from '@parley/documents/block';
import { chooseFormat } from '@parley/documents/choose-format';
import type { Format } from '@parley/documents/formats';
import { labelledBlocks } from '@parley/documents/labelled-blocks';
import { parseDocument } from '@parley/documents/parse-document';
import { failureOf, type ReaderFailure } from '@parley/documents/reader-failure';
import { type OcrPage, ocrParser } from '@parley/documents/read-by-ocr';
import { SeenPages } from '@parley/documents/seen-pages';
import type { OcrLanguage } from '@parley/documents/text-recogniser';
import { type Chunk, type ChunkOptions, chunkStream } from './chunker';

export interface ReadingTask extends ChunkOptions {
  sizeBytes: number;
  contentType: string;
  key: string;
  advice?: Advice;
  /** Reads the text of a document whose reader fails, without its structure. */
  asPlainText?: boolean;
  /** Languages in which pages without text, and pictures, are read by OCR. Default: they are not. */
  ocr?: OcrLanguage[];
}

export interface Batch {
  chunks: Chunk[];
  /** Fraction of the document that is read, from 0 to 1. */
  part: number;
}

/** Request to the parent: method of the adviser and its argument. The child waits for the reply. */
export type AdviceRequest = {
  [Verb in keyof Adviser]: { method: Verb; argument: Parameters<Adviser[Verb]>[0] };
}[keyof Adviser];

/**
 * Message from the child. `started` is sent when all bytes have arrived. Errors are plain data, since IPC loses their
 * class.
 */
export type ChildMessage =
  | 'started'
  | 'ended'
  | Batch
  | { format: string }
  | { reading: number }
  | AdviceRequest
  | { ocrPage: OcrPage }
  | { unreadable: string; ocrHelps: boolean }
  | { outOfMemory: true }
  | { surprised: ReaderFailure }
  | { failed: string };

export type ParentMessage = { read: ReadingTask } | 'more' | { reply: unknown };

const chunksInBatch = 32;
/** Fraction of a document between two messages about how far it is read. */
const reportedStep = 0.01;
/** Characters of a message about a failure: names in documents have any length. */
const longestReason = 1_000;

type ChosenFormat = Pick<Format, 'name' | 'plainText'>;

async function main(): Promise<void> {
  endWithParent();
  const parent = new ParentConnection();
  const data = new ChildData();
  /** Undefined until all bytes have arrived. */
  let format: ChosenFormat | undefined;
  // pdfjs-dist leaves promises of damaged documents unhandled. Those that the reading needs are awaited.
  process.on('unhandledRejection', () => undefined);
  process.on('uncaughtException', (error) => parent.send(failureMessage(error, format), () => process.exit(1)));
  for (;;) {
    format = undefined;
    const task = await parent.nextTask();
    try {
      const bytes = await data.read(task.sizeBytes);
      parent.send('started');
      format = { name: 'document' };
      const { contentType, key } = task;
      const chosen = await chooseFormat({ bytes, contentType, key });
      format = chosen;
      parent.send({ format: chosen.name });
      const source = { ...task, bytes, onReading: parent.reportReading() };
      for await (const batch of batches(source, task, chosen, parent)) {
        await parent.batchRequested();
        parent.send(batch);
      }
      parent.send('ended');
    } catch (error) {
      parent.send(failureMessage(error, format));
    }
  }
}

function failureMessage(error: unknown, format: ChosenFormat | undefined): ChildMessage {
  if (error instanceof UnreadableDocument) {
    const ocrHelps = error instanceof DocumentWithoutText && error.hasPictures;
    return { unreadable: error.message.slice(0, longestReason), ocrHelps };
  }
  if (isMemoryError(error)) return { outOfMemory: true };
  const { message, stack = message, syscall, code = '' } = error as NodeJS.ErrnoException;
  // Another attempt may find the rest of the content, a file that could not be opened, or a complete installation.
  const isOfSystem = format === undefined || syscall !== undefined || code.endsWith('MODULE_NOT_FOUND');
  return isOfSystem ? { failed: stack.slice(0, longestReason) } : { surprised: failureOf(error, format) };
}

class ParentConnection {
  readonly adviser: Adviser = {
    label: (argument) => this.request({ method: 'label', argument }) as ReturnType<Adviser['label']>,
    transcribe: (argument) => this.request({ method: 'transcribe', argument }) as ReturnType<Adviser['transcribe']>,
    describe: (argument) => this.request({ method: 'describe', argument }) as ReturnType<Adviser['describe']>,
  };
  private requestedBatches = 0;
  private onTask?: (task: ReadingTask) => void;
  private onBatchRequest?: () => void;
  private onReply?: (reply: unknown) => void;

  constructor() {
    process.on('message', (message: ParentMessage) => this.receive(message));
  }

  nextTask(): Promise<ReadingTask> {
    this.requestedBatches = 0;
    return new Promise((resolve) => (this.onTask = resolve));
  }

  send(message: ChildMessage, onSent?: () => void): void {
    process.send!(message, undefined, undefined, onSent);
  }

  /** Tells the parent how far a parser is, in at most a hundred messages. */
  reportReading(): OnReading {
    let reported = 0;
    return (part) => {
      if (part - reported < reportedStep) return;
      reported = part;
      this.send({ reading: part });
    };
  }

  /** Backpressure: waits until the parent requests one more batch. */
  async batchRequested(): Promise<void> {
    if (this.requestedBatches === 0) await new Promise<void>((resolve) => (this.onBatchRequest = resolve));
    this.requestedBatches--;
  }

  private receive(message: ParentMessage): void {
    if (message === 'more') {
      this.requestedBatches++;
      this.onBatchRequest?.();
    } else if ('read' in message) {
      this.onTask?.(message.read);
    } else {
      this.onReply?.(message.reply);
    }
  }

  private request(request: AdviceRequest): Promise<unknown> {
    return new Promise((resolve) => {
      this.onReply = resolve;
      this.send(request);
    });
  }
}

async function* batches(
  document: Source,
  task: ReadingTask,
  format: Format,
  parent: ParentConnection,
): AsyncGenerator<Batch> {
  let part = 0;
  const source = { ...document, onProgress: (now: number) => (part = now) };
  let chunks: Chunk[] = [];
  for await (const chunk of allChunks(source, task, format, parent)) {
    chunks.push(chunk);
    if (chunks.length < chunksInBatch) continue;
    yield { chunks, part };
    chunks = [];
  }
  if (chunks.length > 0) yield { chunks, part: 1 };
}

async function* allChunks(
  source: Source,
  { advice = {}, asPlainText, ocr, ...options }: ReadingTask,
  format: Format,
  parent: ParentConnection,
): AsyncGenerator<Chunk> {
  const { adviser } = parent;
  const { transcribePages = false, indexPages = false } = advice.vision ?? {};
  const hasPages = (transcribePages || indexPages) && format.name === 'PDF';
  const pages = hasPages ? await SeenPages.open(source.bytes, adviser) : undefined;
  try {
    const byOcr = ocr && ocrParser(format, { languages: ocr, onPage: (ocrPage) => parent.send({ ocrPage }) });
    const parse = asPlainText ? format.plainText : (byOcr ?? format.parse);
    let blocks: AsyncIterable<Block> = parseDocument(source, parse);
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

void main();
