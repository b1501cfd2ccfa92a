import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

const algorithm = 'aes-256-gcm';
const [publicKeyBytes, keyBytes, nonceBytes, tagBytes] = [32, 32, 12, 16];

/** Code that a sealed text is for: it opens for no other. */
export interface SealedFor {
  ownerId: string;
  revision: string;
}

/**
 * Sealed box: X25519 with a key pair of its own for each text, HKDF-SHA256 and AES-256-GCM. Base64 of its public key, tag and
 * ciphertext.
 * @param recipient public key of a `SealedBoxKey`. Throws for any other text.
 */
export function sealFor(recipient: string, sealedFor: SealedFor, plain: string): string {
  const ephemeral = generateKeyPairSync('x25519');
  const publicKey = rawKey(ephemeral.publicKey);
  const recipientKey = Buffer.from(recipient, 'base64url');
  const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey: keyOf(recipientKey) });
  const { key, nonce } = deriveBoxKey(shared, publicKey, recipientKey);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(boundData(sealedFor));
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([publicKey, cipher.getAuthTag(), sealed]).toString('base64');
}

/** Key pair of one process, in its memory only. */
export class SealedBoxKey {
  readonly publicKey: string;
  private readonly rawPublicKey: Buffer;
  private readonly privateKey: KeyObject;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('x25519');
    this.rawPublicKey = rawKey(publicKey);
    this.publicKey = this.rawPublicKey.toString('base64url');
    this.privateKey = privateKey;
  }

  /** Throws when the text was modified, or sealed for another key or other code. */
  open(sealedFor: SealedFor, text: string): string {
    const bytes = Buffer.from(text, 'base64');
    const publicKey = bytes.subarray(0, publicKeyBytes);
    const sealed = bytes.subarray(publicKeyBytes + tagBytes);
    const shared = diffieHellman({ privateKey: this.privateKey, publicKey: keyOf(publicKey) });
    const { key, nonce } = deriveBoxKey(shared, publicKey, this.rawPublicKey);
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(boundData(sealedFor));
    decipher.setAuthTag(bytes.subarray(publicKeyBytes, publicKeyBytes + tagBytes));
    return Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8');
  }
}

/** Key and nonce serve one text: its key pair is used once. */
function deriveBoxKey(shared: Buffer, publicKey: Buffer, recipientKey: Buffer): { key: Buffer; nonce: Buffer } {
  const salt = Buffer.concat([publicKey, recipientKey]);
  const derived = Buffer.from(hkdfSync('sha256', shared, salt, 'parley sealed box', keyBytes + nonceBytes));
  return { key: derived.subarray(0, keyBytes), nonce: derived.subarray(keyBytes) };
}

function boundData({ ownerId, revision }: SealedFor): Buffer {
  return Buffer.from(JSON.stringify([ownerId, revision]));
}

function rawKey(publicKey: KeyObject): Buffer {
  return Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
}

function keyOf(rawPublicKey: Buffer): KeyObject {
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'X25519', x: rawPublicKey.toString('base64url') } });
}
