import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const corpusFolder = 'test/fixtures/corpus';

export type ContentItem = string | [text: string, inner: string[]];

export type ContentBlock =
  | ['h1' | 'h2' | 'h3' | 'quote', string]
  | ['p', string, note?: string]
  | ['ul', ContentItem[]]
  | ['ol', ContentItem[]]
  | ['table', string[][]];

/** Content that documents of many formats have. */
export interface Content {
  language: string;
  direction?: 'rtl';
  /** Encoding that programs of its country wrote before Unicode. */
  encoding: string;
  header: string;
  footer: string;
  blocks: ContentBlock[];
}

/**
 * Parts of a content that not all documents show, or at another place: notes behind their paragraph (`notes`), at the foot of
 * the page (`foot`) or after the slide (`notes-last`), with the numbers that refer to them (`marks`); numbers of lists.
 */
export type ContentPart = 'margins' | 'notes' | 'foot' | 'notes-last' | 'marks' | 'numbers' | 'no-head';

export const contents: Readonly<Record<string, Content>> = JSON.parse(
  readFileSync(join(corpusFolder, 'contents.json'), 'utf8'),
) as Record<string, Content>;

/** Texts of a document as one reads them. */
export function referenceOf({ header, footer, blocks }: Content, parts: ContentPart[] = []): string {
  const has = (part: ContentPart) => parts.includes(part);
  const lines = has('margins') ? [header] : [];
  const mark = has('marks') ? '1 ' : '';
  const atFoot: string[] = [];
  let last: string | undefined;
  for (const [kind, value, note] of blocks) {
    if (kind === 'table') {
      lines.push(...value.slice(has('no-head') ? 1 : 0).map((row) => row.join(' ')));
    } else if (kind === 'ul' || kind === 'ol') {
      lines.push(...flat(value).map(({ text }, i) => (kind === 'ol' && has('numbers') ? `${i + 1}. ${text}` : text)));
    } else if (note && (has('notes') || has('foot'))) {
      lines.push(`${value} ${mark}`);
      (has('foot') ? atFoot : lines).push(`${mark}${note}`);
    } else lines.push(value);
    // Notes of speakers follow their slide, which ends at the next heading.
    if (kind === 'p' && note && has('notes-last')) last = note;
    else if (last && kind.startsWith('h')) lines.splice(-1, 0, last);
    if (kind.startsWith('h')) last = undefined;
  }
  lines.push(...atFoot, ...(has('margins') ? [footer] : []));
  return lines.join('\n');
}

export function flat(items: ContentItem[]): { text: string; level: number }[] {
  return items.flatMap((item) =>
    typeof item === 'string'
      ? [{ text: item, level: 0 }]
      : [{ text: item[0], level: 0 }, ...item[1].map((text) => ({ text, level: 1 }))],
  );
}
