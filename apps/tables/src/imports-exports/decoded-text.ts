import { isAscii, isUtf8 } from 'node:buffer';
import { openThreadPool } from '@parley/background/thread-pool';
import { type Decoder, decoderOf } from '@parley/documents/decoder';
import { peekStart } from './peek-start';
import { UnreadableFile } from './read-row';
import type { EncodingTask } from './text-encoding.worker';

const blockBytes = 65_536;
/** Bytes from the first one that is not ASCII, from which the encoding is detected. */
const sampleBytes = 262_144;
const cutCharacter = /(?:[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})$/;

/**
 * Text of a file without a byte order mark, in UTF-8 or in the encoding that is declared or detected from the first
 * bytes that are not ASCII. Deterministic: blocks do not depend on the chunks. Throws UnreadableFile for text that cannot be decoded.
 */
export async function* decodedText(bytes: AsyncIterable<Uint8Array>, charset?: string): AsyncIterable<string> {
  const blocks = blocksOf(bytes);
  for await (const block of blocks) {
    if (isPlain(block)) {
      yield block.toString('latin1');
      continue;
    }
    const { start, all } = await peekStart(continued(block, blocks), {
      nothing: Buffer.alloc(0),
      join: (known, next) => Buffer.concat([known, next]),
      isEnough: ({ length }) => length >= sampleBytes,
    });
    yield* decoded(all, await encodingOf(start, charset));
    return;
  }
}

async function* decoded(blocks: AsyncIterable<Buffer>, encoding: string): AsyncIterable<string> {
  const decoder: Decoder = encoding === 'utf-8' ? new TextDecoder('utf-8', { fatal: true }) : decoderOf(encoding);
  for await (const block of blocks) {
    const text = decode(decoder, encoding, block);
    if (text !== '') yield text;
  }
  // Throws for an incomplete last character.
  const end = decode(decoder, encoding);
  if (end !== '') yield end;
}

function decode(decoder: Decoder, encoding: string, block?: Buffer): string {
  let cause: unknown;
  try {
    const text = decoder.decode(block, { stream: block !== undefined });
    if (encoding === 'utf-8' || !text.includes('\uFFFD')) return text;
  } catch (error) {
    cause = error;
  }
  throw new UnreadableFile(
    `The text is not in one encoding: it begins as ${encoding.toUpperCase()}, but a part of it cannot be decoded. Save it as UTF-8.`,
    { cause },
  );
}

async function encodingOf(sample: Buffer, charset?: string): Promise<string> {
  if (isUtf8(withoutCutCharacter(sample)) && !sample.includes(0) && !sample.includes('\x1b')) return 'utf-8';
  // Detection takes some 80 ms, so it must not run on the event loop.
  const pool = openThreadPool(__dirname, 'text-encoding.worker', { maxThreads: 1 });
  try {
    const encoding = (await pool.run({ sample, charset } satisfies EncodingTask)) as string | undefined;
    if (encoding) return encoding;
  } finally {
    await pool.destroy();
  }
  throw new UnreadableFile('The encoding of the file is unknown: send CSV or JSON, saved with the encoding UTF-8.');
}

function isPlain(block: Buffer): boolean {
  return isAscii(block) && !block.includes(0) && !block.includes('\x1b$');
}

/** The sample without the first bytes of a character of UTF-8 at its end. */
function withoutCutCharacter(sample: Buffer): Buffer {
  const [cut = ''] = cutCharacter.exec(sample.toString('latin1', Math.max(0, sample.length - 3))) ?? [];
  return sample.subarray(0, sample.length - cut.length);
}

async function* continued(first: Buffer, rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield first;
  yield* rest;
}

async function* blocksOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length < blockBytes) continue;
    const bytes = Buffer.concat(parts);
    let start = 0;
    for (; length - start >= blockBytes; start += blockBytes) yield bytes.subarray(start, start + blockBytes);
    parts = [bytes.subarray(start)];
    length -= start;
  }
  if (length > 0) yield Buffer.concat(parts);
}
