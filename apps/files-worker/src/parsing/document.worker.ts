import { chunk, type Chunk } from '../chunking/chunker';
import { UnreadableDocument } from './block';
import { parseDocument } from './parse-document';

export interface ReadingTask {
  bytes: Uint8Array;
  contentType: string;
  key: string;
  maximumLength: number;
  minimumParagraphLength?: number;
}

/** Errors lose their class between threads: what is wrong with the document itself is an answer. */
export type Reading = { chunks: Chunk[] } | { unreadable: string };

/** Parses and chunks one document, in a thread of its own. */
export default function read({ bytes, contentType, key, ...limits }: ReadingTask): Reading {
  try {
    const blocks = parseDocument(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), { contentType, key });
    return { chunks: [...chunk(blocks, limits)] };
  } catch (error) {
    if (error instanceof UnreadableDocument) return { unreadable: error.message };
    throw error;
  }
}
