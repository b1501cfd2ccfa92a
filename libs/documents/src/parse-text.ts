import { type Block } from './block';
import { lines } from './lines';

/** Characters after which a paragraph (such as a log) is split at a line end. */
const longestParagraph = 1_000_000;

/** Plain text: paragraphs separated by blank lines. Headings are not guessed. */
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
