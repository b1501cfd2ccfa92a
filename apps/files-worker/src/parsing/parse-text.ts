import { Block } from './block';

/** Plain text has paragraphs, parted by blank lines, and nothing else: no line is guessed to be a heading. */
export function parseText(text: string): Block[] {
  return text
    .split(/\n(?:[^\S\n]*\n)+/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => ({ type: 'paragraph', text: paragraph }));
}
