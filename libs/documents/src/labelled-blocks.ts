import type { Adviser, BlockExcerpt, WindowLabels } from './adviser';
import type { Block } from './block';

const blocksInWindow = 40;
const excerptCharacters = 300;

export async function* labelledBlocks(blocks: AsyncIterable<Block>, adviser: Adviser): AsyncGenerator<Block> {
  let window: Block[] = [];
  for await (const block of blocks) {
    window.push(block);
    if (window.length < blocksInWindow) continue;
    yield* relabel(window, await adviser.label(window.map(excerpt)));
    window = [];
  }
  if (window.length > 0) yield* relabel(window, await adviser.label(window.map(excerpt)));
}

function excerpt({ type, level, text }: Block, index: number): BlockExcerpt {
  const isWhole = text.length <= excerptCharacters;
  return { number: index + 1, type, level, text: text.slice(0, excerptCharacters), isWhole };
}

function* relabel(window: Block[], advice?: WindowLabels): Generator<Block> {
  const labels = new Map(advice?.labels.map((label) => [label.number, label]));
  const boilerplate = new Set(advice?.boilerplate);
  for (const [index, block] of window.entries()) {
    if (boilerplate.has(index + 1)) continue;
    const label = labels.get(index + 1);
    const { text, pageNumber, isRecognised, headerLines } = block;
    if (!label) yield block;
    else
      yield {
        text,
        pageNumber,
        isRecognised,
        type: label.type,
        level: label.level,
        ...(label.type === 'table' && { headerLines }),
      };
  }
}
