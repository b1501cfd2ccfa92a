import { createHmac, hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { deriveKey } from './derived-key';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 178 random bits: 30 characters of an alphabet of 62. */
const randomLength = 30;
const checksumLength = 6;

const prefixes = { pat: 'bp_pat_', bak: 'bp_bak_', iak: 'bp_iak_', operator: 'bp_op_' } as const;
export type TokenKind = keyof typeof prefixes;

/** Format: prefix, random part, checksum. The checksum identifies mistyped and incomplete tokens without a look-up. */
export function newToken(kind: TokenKind): string {
  const random = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return withChecksum(kind, random);
}

/** Operator token, derived from the secret key, so that it need not be stored. */
export function operatorToken(secretKey: string): string {
  return withChecksum('operator', toAlphabet(deriveKey(secretKey, 'operator')));
}

/**
 * API key for one version of the code of a bot or of an integration, derived, so that it need not be stored.
 * @param key derived for `runtime-keys`
 */
export function runtimeKey(kind: 'bak' | 'iak', key: Buffer, ownerId: string, version: string): string {
  const code = createHmac('sha256', key).update(JSON.stringify([ownerId, version]));
  return withChecksum(kind, toAlphabet(code.digest()));
}

/** 190 bits of 32 random bytes. */
function toAlphabet(bytes: Buffer): string {
  return [...bytes].map((byte) => alphabet[byte % alphabet.length]).join('');
}

/** Kind of a well-formed token, otherwise undefined. Does not check that the token exists. */
export function tokenKind(token: string): TokenKind | undefined {
  const kind = (Object.keys(prefixes) as TokenKind[]).find((candidate) => token.startsWith(prefixes[candidate]));
  if (!kind || !/^[0-9A-Za-z_]{20,100}$/.test(token)) return undefined;
  const random = token.slice(prefixes[kind].length, -checksumLength);
  return withChecksum(kind, random) === token ? kind : undefined;
}

/**
 * SHA-256 in hex, the form in which tokens are stored and sent over the bus. A slow hash is not needed, given their
 * entropy.
 */
export function hashToken(token: string): string {
  return hash('sha256', token);
}

export function tokenPreview(token: string): string {
  return token.slice(0, 12);
}

function withChecksum(kind: TokenKind, random: string): string {
  const body = `${prefixes[kind]}${random}`;
  let rest = crc32(body);
  let checksum = '';
  for (let index = 0; index < checksumLength; index += 1) {
    checksum = `${alphabet[rest % alphabet.length]}${checksum}`;
    rest = Math.floor(rest / alphabet.length);
  }
  return `${body}${checksum}`;
}
