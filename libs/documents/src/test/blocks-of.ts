import type { Block } from '../block';
import { parseDocument } from '../parse-document';

/** As the worker reads it: the extension decides. */
export async function blocksOf(bytes: Buffer, key: string): Promise<Block[]> {
  const blocks: Block[] = [];
  for await (const block of parseDocument({ bytes, contentType: 'application/octet-stream', key })) blocks.push(block);
  return blocks;
}
