import { type Block, type Blocks, DocumentWithoutText, type Source, UnreadableDocument } from './block';
import { chooseFormat } from './choose-format';
import type { Format } from './formats';
import { textLimitCharacters } from './limits';
import { storable } from './storable';

/**
 * Parses a document into blocks in reading order: at least one, none blank, all storable in Postgres. Throws
 * UnreadableDocument when the format is not supported or is declared wrongly, and for documents without text or with
 * too much.
 * @param read Default: `parse` of the format that its name and content agree on
 */
export async function* parseDocument(source: Source, read?: Format['parse']): AsyncGenerator<Block> {
  const parse = read ?? (await chooseFormat(source)).parse;
  const mostCharacters = textLimitCharacters(source.bytes.length);
  let length = 0;
  let hasText = false;
  for await (const block of withProgress(await parse(source), source)) {
    length += block.text.length;
    if (length > mostCharacters) {
      throw new UnreadableDocument(
        `The document has more than ${Math.floor(mostCharacters / 1e6)} million characters of text, ` +
          'which is too much for its size. Split it into smaller files.',
      );
    }
    const text = storable(block.text);
    if (text.trim() === '') continue;
    hasText = true;
    yield { ...block, text };
  }
  if (!hasText) {
    throw new DocumentWithoutText('No text found in this file. Upload a file that contains text.');
  }
}

function withProgress(blocks: Blocks, { onProgress }: Source): Blocks {
  return Array.isArray(blocks) && onProgress ? reportingProgress(blocks as Block[], onProgress) : blocks;
}

function* reportingProgress(blocks: Block[], onProgress: (part: number) => void): Generator<Block> {
  for (const [i, block] of blocks.entries()) {
    onProgress((i + 1) / blocks.length);
    yield block;
  }
}
