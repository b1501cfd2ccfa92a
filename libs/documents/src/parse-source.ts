import { type Block } from './block';
import { lines } from './lines';

const longestBlock = 1_000_000;

/** Program code in blocks that end at a blank line before something at the outermost level, so that a function is in one. */
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
