import { maxEmbeddedCharacters } from '../../../files/src/store/embedded-texts';
import type { Chunk } from './chunker';
import type { Batch } from './document.child';

const mostChunks = 32;
/** Characters of the texts that are embedded at once: the main thread works on all of them in one turn. */
const mostCharacters = 4 * maxEmbeddedCharacters;

/**
 * Batches of any sizes, regrouped so that each has at most 32 chunks, and about 48,000 characters with their neighbours.
 * Each but the last has at least four chunks, more than the neighbours that are embedded with a chunk.
 * @param levels neighbours on each side
 */
export async function* smallBatches(batches: AsyncIterable<Batch>, levels: number): AsyncGenerator<Batch> {
  let chunks: Chunk[] = [];
  let characters = 0;
  let part = 0;
  for await (const batch of batches) {
    for (const [i, chunk] of batch.chunks.entries()) {
      chunks.push(chunk);
      characters += Math.min(maxEmbeddedCharacters, lengthOf(chunk) * (2 * levels + 1));
      if (i === batch.chunks.length - 1) ({ part } = batch);
      if (chunks.length < mostChunks && characters < mostCharacters) continue;
      yield { chunks, part };
      chunks = [];
      characters = 0;
    }
  }
  if (chunks.length > 0) yield { chunks, part };
}

function lengthOf({ content, breadcrumb }: Chunk): number {
  return breadcrumb.reduce((sum, title) => sum + title.length, content.length);
}
