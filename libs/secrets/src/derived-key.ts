import { hkdfSync } from 'node:crypto';

export type Purpose = 'secrets' | 'secret-key-id' | 'content-urls' | 'bot-code-urls' | 'operator' | 'chat-user-keys';

/** 32 bytes for one purpose, from the platform's secret key (HKDF-SHA256): keys of two purposes tell nothing of each other. */
export function deriveKey(secretKey: string, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, 'parley', purpose, 32));
}
