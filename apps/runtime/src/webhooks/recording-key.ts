import { randomBytes } from 'node:crypto';
import { SecretBox } from '@parley/secrets/secret-box';
import { SecretKeys } from '@parley/secrets/secret-keys';

/** Key of a new recording, encrypted. */
export function newRecordingKey(box: SecretBox): string {
  return box.seal(randomBytes(32).toString('base64url'));
}

/** Encryption by the key of a recording. Throws when the key cannot be decrypted. */
export function boxOf(box: SecretBox, sealedKey: string): SecretBox {
  return new SecretBox(new SecretKeys({ secretKey: box.open(sealedKey) }));
}
