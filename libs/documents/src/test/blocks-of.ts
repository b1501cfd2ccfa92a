import type { Block } from '../block';
import { parseDocument } from '../parse-document';

/** Parses like the worker: the extension of the key decides on the format. */
export async function blocksOf(bytes: Buffer, key: string): Promise<Block[]> {
  const blocks: Block[] = [];
  for await (const block of parseDocument({ bytes, contentType: 'application/octet-stream', key })) blocks.push(block);
  return blocks;
}
