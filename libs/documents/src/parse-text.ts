import { type Block } from './block';
import { lines } from './lines';

/** A paragraph that is longer, as logs are, is cut at the end of a line. */
const longestParagraph = 1_000_000;

/** Plain text has paragraphs, parted by blank lines, and nothing else: no line is guessed to be a heading. */
export function* parseText(slices: Iterable<string>): Generator<Block> {
  let paragraph: string[] = [];
  let length = 0;
  function* endParagraph(): Generator<Block> {
    if (paragraph.length > 0) yield { type: 'paragraph', text: paragraph.join('\n').trim() };
    paragraph = [];
    length = 0;
  }

  for (const line of lines(slices, longestParagraph)) {
    const isBlank = line.trim() === '';
    if (isBlank || length + line.length > longestParagraph) yield* endParagraph();
    if (isBlank) continue;
    paragraph.push(line);
    length += line.length + 1;
  }
  yield* endParagraph();
}
