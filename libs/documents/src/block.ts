export type BlockType = 'title' | 'subtitle' | 'paragraph' | 'list' | 'table' | 'code' | 'blockquote' | 'page';

/** One piece of a document in reading order, as its format marks it. */
export interface Block {
  type: BlockType;
  /** Plain text; a list keeps its markers and indentation, a table one row a line with `|` between cells. */
  text: string;
  /** Titles and subtitles: 1 for the highest heading, 6 for the lowest. */
  level?: number;
  /** Tables: how many lines at the start of `text` are the header; 0 when there is none. */
  headerLines?: number;
  /** First page is 1; only for formats that have pages. */
  pageNumber?: number;
}

/** A file as it was uploaded. */
export interface Source {
  bytes: Buffer;
  contentType: string;
  key: string;
  /** Told by parsers that give blocks while they read: how much is read, from 0 to 1. */
  onProgress?: (part: number) => void;
}

/** In reading order; an iterable is read while the rest of the document is still parsed. */
export type Blocks = Iterable<Block> | AsyncIterable<Block>;

/** The document itself cannot be indexed. The message is shown to its owner as `failedStatusReason`: say what to do. */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';
}

/** It can be read, and there is no text in it. */
export class DocumentWithoutText extends UnreadableDocument {}
