import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SecretKeys } from './secret-keys';

const nonceBytes = 12;
const tagBytes = 16;
/** Length of the key id (hex digits) before a sealed text. A dot follows it, which base64 does not contain. */
export const keyIdLength = 8;

interface SealingKey {
  id: string;
  key: Buffer;
}

/**
 * Authenticated encryption of stored secrets: AES-256-GCM, as key id, dot, and base64 of nonce, tag and ciphertext.
 * Texts of earlier versions have no key id; each key is tried.
 */
export class SecretBox {
  private readonly keys: SealingKey[];
  private readonly current: SealingKey;

  constructor(keys: SecretKeys) {
    const ids = keys.derive('secret-key-id').map((bytes) => bytes.toString('hex').slice(0, keyIdLength));
    this.keys = keys.derive('secrets').map((key, index) => ({ id: ids[index]!, key }));
    this.current = this.keys[0]!;
  }

  /** Id of the current key. It reveals nothing about the key. */
  get keyId(): string {
    return this.current.id;
  }

  seal(plain: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.current.key, nonce, { authTagLength: tagBytes });
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return `${this.current.id}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')}`;
  }

  /** Throws when the text was modified, or sealed under an unknown key. */
  open(sealed: string): string {
    const [id, text] = sealed[keyIdLength] === '.' ? sealed.split('.') : [undefined, sealed];
    const bytes = Buffer.from(text ?? '', 'base64');
    const candidates = id === undefined ? this.keys : this.keys.filter((key) => key.id === id);
    let failure: unknown = new Error(`The text is encrypted under the key "${id}", which is not known here.`);
    for (const { key } of candidates) {
      try {
        return decrypt(key, bytes);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  canOpen(sealed: string): boolean {
    try {
      this.open(sealed);
      return true;
    } catch {
      return false;
    }
  }
}

function decrypt(key: Buffer, bytes: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
}
