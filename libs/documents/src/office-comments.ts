import type { Block } from './block';

export interface Comment {
  author?: string;
  /** Commented text, or the address of a cell. */
  on?: string;
  text: string;
}

const longestQuote = 200;

/** Comment of a reviewer: says whose it is, and on what. */
export function commentBlock({ author, on, text }: Comment): Block {
  const by = author?.trim() ? ` by ${author.trim()}` : '';
  const about = on?.trim() ? ` on ${on.trim()}` : '';
  return { type: 'paragraph', text: text.trim() === '' ? '' : `Comment${by}${about}: ${text.trim()}` };
}

export function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line === '' ? '' : `"${line.length > longestQuote ? `${line.slice(0, longestQuote).trimEnd()}…` : line}"`;
}
