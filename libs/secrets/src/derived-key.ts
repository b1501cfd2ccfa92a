import { hkdfSync } from 'node:crypto';

/** 32 bytes for one purpose, from the platform's secret key (HKDF-SHA256): keys of two purposes tell nothing of each other. */
export function deriveKey(
  secretKey: string,
  purpose: 'secrets' | 'content-urls' | 'bot-code-urls' | 'operator',
): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, 'parley', purpose, 32));
}
