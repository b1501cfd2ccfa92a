import { randomBytes } from 'node:crypto';

/** What calls to a bot or an integration are signed with: 256 random bits, in hex. */
export function newSigningSecret(): string {
  return randomBytes(32).toString('hex');
}
