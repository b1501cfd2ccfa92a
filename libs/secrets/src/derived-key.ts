import { hkdfSync } from 'node:crypto';

export type Purpose =
  | 'secrets'
  | 'secret-key-id'
  | 'content-urls'
  | 'bot-code-urls'
  | 'operator'
  | 'chat-user-keys'
  | 'code-tickets'
  | 'integration-code-tickets'
  | 'runtime-keys';

/**
 * Key derivation (HKDF-SHA256): 32 bytes per purpose from the platform's secret key. Keys of different purposes are
 * independent.
 */
export function deriveKey(secretKey: string, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, 'parley', purpose, 32));
}
