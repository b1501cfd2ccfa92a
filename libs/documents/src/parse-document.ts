import { type Block, type Blocks, DocumentWithoutText, type Source, UnreadableDocument } from './block';
import { chooseFormat } from './choose-format';
import { mostTextCharacters } from './limits';
import { storable } from './storable';

/**
 * The document's blocks in reading order: at least one, none of them blank, all storable in Postgres. Throws
 * UnreadableDocument for what cannot be indexed, is not what it says, has no text, or far too much.
 */
export async function* parseDocument(source: Source): AsyncGenerator<Block> {
  const format = await chooseFormat(source);
  let length = 0;
  for await (const block of withProgress(await format.parse(source), source)) {
    const text = storable(block.text);
    if (text.trim() === '') continue;
    length += text.length;
    if (length > mostTextCharacters) {
      throw new UnreadableDocument(`The document has more than ${mostTextCharacters / 1e6} MB of text: split it.`);
    }
    yield { ...block, text };
  }
  if (length === 0) {
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
