import { type Block } from './block';
import { lines } from './lines';

const longestBlock = 1_000_000;

/** Source code: blocks end at a blank line before unindented code, so that a function stays in one block. */
export function* parseSource(slices: Iterable<string>): Generator<Block> {
  let block: string[] = [];
  let length = 0;
  for (const line of lines(slices, longestBlock)) {
    const begins = block.at(-1)?.trim() === '' && /^[^\s)\]}]/.test(line);
    if (begins || length > longestBlock) {
      yield { type: 'code', text: block.join('\n') };
      block = [];
      length = 0;
    }
    block.push(line);
    length += line.length + 1;
  }
  if (block.length > 0) yield { type: 'code', text: block.join('\n') };
}
