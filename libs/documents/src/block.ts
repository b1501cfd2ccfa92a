export type BlockType = 'title' | 'subtitle' | 'paragraph' | 'list' | 'table' | 'code' | 'blockquote' | 'page';

/** Block of a document in reading order, with the type that the file format gives it. */
export interface Block {
  type: BlockType;
  /** Plain text. Lists keep their markers and indentation. Tables have one row per line with `|` between cells. */
  text: string;
  /** Heading level of titles and subtitles: 1 (highest) to 6; 0 for the title of a page above its own heading. */
  level?: number;
  /** Tables: number of header lines at the start of `text`, 0 without a header. */
  headerLines?: number;
  /** Page number from 1, only for formats with pages. */
  pageNumber?: number;
  /** Whether the text was read from a picture by text recognition (OCR). */
  isRecognised?: true;
}

export interface Source {
  bytes: Buffer;
  contentType: string;
  key: string;
  /** Called by streaming parsers with the fraction that is parsed, from 0 to 1. */
  onProgress?: (part: number) => void;
  /** Called with the fraction that is read, from 0 to 1, by parsers that give no block before they have read all. */
  onReading?: OnReading;
}

export type OnReading = (part: number) => void;

/** Blocks in reading order. An iterable yields blocks while the rest of the document is still being parsed. */
export type Blocks = Iterable<Block> | AsyncIterable<Block>;

/**
 * Error for a document that cannot be indexed. Its message is stored as `failedStatusReason` and shown to the owner of
 * the file, so it has to say what to do.
 */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';
}

export class DocumentWithoutText extends UnreadableDocument {
  /** @param hasPictures whether text may be on pictures or in drawings, which OCR reads */
  constructor(
    message: string,
    readonly hasPictures = false,
  ) {
    super(message);
  }
}
