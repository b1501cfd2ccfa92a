import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@parley/contracts/errors';

type Parameters = Record<string, string>;

/** Makes a URL a credential of its own until it expires: HMAC-SHA256 over its scope and every parameter. Signs with the first key. */
export class UrlSignature {
  constructor(private readonly keys: readonly [Buffer, ...Buffer[]]) {}

  /** The query of a URL that is good for this scope alone, such as a method and what the path names. */
  sign(scope: readonly string[], parameters: Parameters, expiresAt: Date): string {
    const signed: Parameters = { ...parameters, expires: String(Math.floor(expiresAt.getTime() / 1000)) };
    return new URLSearchParams({ ...signed, signature: signatureOf(this.keys[0], scope, signed) }).toString();
  }

  /** The parameters of these names. Throws Forbidden for an altered or expired URL. */
  verify(scope: readonly string[], query: Record<string, unknown>, names: readonly string[] = []): Parameters {
    const signed: Parameters = {};
    for (const name of [...names, 'expires']) signed[name] = typeof query[name] === 'string' ? query[name] : '';
    const given = Buffer.from(typeof query['signature'] === 'string' ? query['signature'] : '');
    const isRight = this.keys.some((key) => isEqual(given, Buffer.from(signatureOf(key, scope, signed))));
    if (!isRight) {
      throw new ApiError('Forbidden', 'The signature of this URL is wrong: use the URL exactly as it was given.');
    }
    if (Number(signed['expires']) * 1000 <= Date.now()) {
      throw new ApiError('Forbidden', 'This URL has expired: ask for a new one where it came from.');
    }
    return signed;
  }
}

function signatureOf(key: Buffer, scope: readonly string[], signed: Parameters): string {
  const text = JSON.stringify([...scope, ...Object.entries(signed).sort(([a], [b]) => (a < b ? -1 : 1))]);
  return createHmac('sha256', key).update(text).digest('base64url');
}

function isEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
