import { extname } from 'node:path';
import { lookup } from 'mime-types';

/** From the extension alone: a key such as `html` has none. */
export function contentTypeOf(key: string): string {
  const extension = extname(key);
  if (extension.toLowerCase() === '.jsonl') return 'application/jsonl';
  return lookup(extension) || 'application/octet-stream';
}
