import { type Block, type Blocks, DocumentWithoutText, type Source, UnreadableDocument } from './block';
import { chooseFormat } from './choose-format';
import { textLimitCharacters } from './limits';
import { storable } from './storable';

/**
 * The document's blocks in reading order: at least one, none of them blank, all storable in Postgres. Throws
 * UnreadableDocument for what cannot be indexed, is not what it says, has no text, or far too much.
 */
export async function* parseDocument(source: Source): AsyncGenerator<Block> {
  const format = await chooseFormat(source);
  const mostCharacters = textLimitCharacters(source.bytes.length);
  let length = 0;
  let hasText = false;
  for await (const block of withProgress(await format.parse(source), source)) {
    length += block.text.length;
    if (length > mostCharacters) {
      throw new UnreadableDocument(
        `The document has more than ${Math.floor(mostCharacters / 1e6)} million characters of text, ` +
          'which is too much for its size: split it.',
      );
    }
    const text = storable(block.text);
    if (text.trim() === '') continue;
    hasText = true;
    yield { ...block, text };
  }
  if (!hasText) {
    throw new DocumentWithoutText('There was no text found in this file. Upload a file that contains text.');
  }
}

/** Blocks that were parsed all at once are read as they are used. */
function withProgress(blocks: Blocks, { onProgress }: Source): Blocks {
  return Array.isArray(blocks) && onProgress ? tell(blocks as Block[], onProgress) : blocks;
}

function* tell(blocks: Block[], onProgress: (part: number) => void): Generator<Block> {
  for (const [i, block] of blocks.entries()) {
    onProgress((i + 1) / blocks.length);
    yield block;
  }
}
