import { createHash } from 'node:crypto';
import { yieldToEventLoop } from './yield-to-event-loop';

/** Characters hashed between two yields to the event loop: about 1 ms. */
const partLength = 1_000_000;

/** SHA-256 of the text in UTF-8. A long text does not block the event loop. */
export async function hashText(text: string): Promise<Buffer> {
  const hash = createHash('sha256');
  for (let from = 0; from < text.length;) {
    const end = boundary(text, from + partLength);
    hash.update(text.slice(from, end));
    if (end < text.length) await yieldToEventLoop();
    from = end;
  }
  return hash.digest();
}

/** Never splits a surrogate pair. */
function boundary(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return end < text.length && code >= 0xd800 && code < 0xdc00 ? end + 1 : end;
}
