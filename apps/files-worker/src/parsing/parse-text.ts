import { type Block } from './block';

/** Plain text has paragraphs, parted by blank lines, and nothing else: no line is guessed to be a heading. */
export function parseText(text: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  const endParagraph = () => {
    if (lines.length > 0) blocks.push({ type: 'paragraph', text: lines.join('\n').trim() });
    lines = [];
  };

  for (const line of text.split('\n')) {
    if (line.trim() === '') endParagraph();
    else lines.push(line);
  }
  endParagraph();
  return blocks;
}
