import { randomBytes } from 'node:crypto';

/** Secret for signing calls to a bot or an integration: 256 random bits in hex. */
export function newSigningSecret(): string {
  return randomBytes(32).toString('hex');
}
