import { deriveKey } from './derived-key';
import { SealedBoxKey, sealFor } from './sealed-box';
import { SecretBox } from './secret-box';
import { SecretKeys } from './secret-keys';
import { hashToken, newToken, operatorToken, tokenKind } from './token';
import { UrlSignature } from './url-signature';

const secretKey = 'a secret key of thirty-two letters';
const other = 'another one of thirty-two letters!';

describe('tokens', () => {
  it('creates tokens with a kind and at least 160 random bits, which never repeat', () => {
    const tokens = Array.from({ length: 100 }, () => newToken('pat'));

    expect(new Set(tokens).size).toBe(100);
    expect(tokens.every((token) => /^bp_pat_[0-9A-Za-z]{36}$/.test(token))).toBe(true);
    expect(tokens.map(tokenKind)).toEqual(tokens.map(() => 'pat'));
  });

  it.each([
    [
      'one letter changed',
      (token: string) => `${token.slice(0, 20)}${token[20] === 'a' ? 'b' : 'a'}${token.slice(21)}`,
    ],
    ['cut at the end', (token: string) => token.slice(0, -1)],
    ['another kind', (token: string) => token.replace('bp_pat_', 'bp_bak_')],
    ['something behind', (token: string) => `${token}x`],
    ['nothing', () => ''],
  ])('rejects tokens by their form: %s', (_name, change) => {
    expect(tokenKind(change(newToken('pat')))).toBeUndefined();
  });

  it('derives the operator token from the secret key only', () => {
    expect(tokenKind(operatorToken(secretKey))).toBe('operator');
    expect(operatorToken(secretKey)).toBe(operatorToken(secretKey));
    expect(operatorToken(secretKey)).not.toBe(operatorToken(`${secretKey}.`));
  });

  it('stores tokens as SHA-256', () => {
    expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

function parts(sealed: string): { id: string; bytes: Buffer } {
  const [id, text] = sealed.split('.');
  return { id: id!, bytes: Buffer.from(text!, 'base64') };
}

describe('the secret box', () => {
  const box = new SecretBox(new SecretKeys({ secretKey }));

  it('decrypts sealed texts, and encrypts the same text differently each time', () => {
    const sealed = box.seal('hush ü');

    expect(box.open(sealed)).toBe('hush ü');
    expect(box.seal('hush ü')).not.toBe(sealed);
  });

  it('rejects texts that were modified or sealed under another key', () => {
    const sealed = box.seal('hush');
    const { id, bytes } = parts(sealed);
    bytes[bytes.length - 1]! ^= 1;

    expect(() => box.open(`${id}.${bytes.toString('base64')}`)).toThrow();
    expect(() => new SecretBox(new SecretKeys({ secretKey: other })).open(sealed)).toThrow('not known here');
  });

  it('rejects truncated texts of any length', () => {
    const sealed = box.seal('');
    const { id, bytes } = parts(sealed);

    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => box.open(`${id}.${bytes.subarray(0, length).toString('base64')}`)).toThrow();
    }
    for (let length = 0; length < id.length + 20; length += 1)
      expect(() => box.open(sealed.slice(0, length))).toThrow();
    expect(box.open(sealed)).toBe('');
  });

  it('decrypts under former keys by key id, and encrypts under the current one', () => {
    const rotated = new SecretBox(new SecretKeys({ secretKey: other, formerSecretKeys: [secretKey] }));
    const former = box.seal('hush');

    const fresh = rotated.seal(rotated.open(former));

    expect(rotated.open(former)).toBe('hush');
    expect(rotated.open(fresh)).toBe('hush');
    expect(former.startsWith(`${box.keyId}.`)).toBe(true);
    expect(fresh.startsWith(`${rotated.keyId}.`)).toBe(true);
    expect(box.canOpen(fresh)).toBe(false);
  });

  it('decrypts texts without a key id under any of its keys', () => {
    const unnamed = box.seal('hush').split('.')[1]!;

    const rotated = new SecretBox(new SecretKeys({ secretKey: other, formerSecretKeys: [secretKey] }));

    expect(box.open(unnamed)).toBe('hush');
    expect(rotated.open(unnamed)).toBe('hush');
    expect(() => new SecretBox(new SecretKeys({ secretKey: other })).open(unnamed)).toThrow();
  });
});

describe('a sealed box', () => {
  const key = new SealedBoxKey();
  const code = { ownerId: 'bot', revision: '1' };

  it('opens for the key and the code that it was sealed for, and seals the same text differently each time', () => {
    const sealed = sealFor(key.publicKey, code, 'hush ü');

    expect(key.open(code, sealed)).toBe('hush ü');
    expect(sealFor(key.publicKey, code, 'hush ü')).not.toBe(sealed);
    expect(key.open(code, sealFor(key.publicKey, code, ''))).toBe('');
  });

  it('opens neither for another key nor for other code', () => {
    const sealed = sealFor(key.publicKey, code, 'hush');

    expect(() => new SealedBoxKey().open(code, sealed)).toThrow();
    expect(() => key.open({ ...code, ownerId: 'other' }, sealed)).toThrow();
    expect(() => key.open({ ...code, revision: '2' }, sealed)).toThrow();
    expect(() => key.open({ ownerId: 'bot1', revision: '' }, sealed)).toThrow();
  });

  it('rejects sealed boxes with any byte changed or missing', () => {
    const bytes = Buffer.from(sealFor(key.publicKey, code, 'hush'), 'base64');

    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes);
      changed[index]! ^= 1;
      expect(() => key.open(code, changed.toString('base64'))).toThrow();
      expect(() => key.open(code, bytes.subarray(0, index).toString('base64'))).toThrow();
    }
  });

  it.each([
    ['no key', ''],
    ['a key of another length', Buffer.alloc(31, 7).toString('base64url')],
    ['a key with which everyone would derive the same', Buffer.alloc(32).toString('base64url')],
  ])('seals nothing for %s', (_name, publicKey) => {
    expect(() => sealFor(publicKey, code, 'hush')).toThrow();
  });
});

describe('a signed URL', () => {
  const before = new SecretKeys({ secretKey });
  const signatureOf = (keys: SecretKeys) => new UrlSignature(keys.derive('content-urls'));
  const soon = () => new Date(Date.now() + 60_000);
  const read = (query: string) => Object.fromEntries(new URLSearchParams(query));

  it('accepts a signed URL under a former key, while new URLs are signed with the current one', () => {
    const rotated = new SecretKeys({ secretKey: other, formerSecretKeys: [secretKey] });
    const url = read(signatureOf(before).sign(['GET'], { version: '1' }, soon()));

    const fresh = read(signatureOf(rotated).sign(['GET'], { version: '1' }, soon()));

    expect(signatureOf(rotated).verify(['GET'], url, ['version'])).toMatchObject({ version: '1' });
    expect(() => signatureOf(rotated).verify(['PUT'], url, ['version'])).toThrow('signature');
    expect(() => signatureOf(before).verify(['GET'], fresh, ['version'])).toThrow('signature');
    expect(() => signatureOf(new SecretKeys({ secretKey: other })).verify(['GET'], url, ['version'])).toThrow(
      'signature',
    );
  });
});

describe('a derived key', () => {
  it('derives keys of 32 bytes, which depend on the purpose', () => {
    const purposes = ['secrets', 'content-urls', 'bot-code-urls', 'operator'] as const;

    const keys = purposes.map((purpose) => deriveKey(secretKey, purpose).toString('hex'));

    expect(keys.map((key) => key.length)).toEqual([64, 64, 64, 64]);
    expect(new Set(keys).size).toBe(4);
    expect(keys).toEqual(purposes.map((purpose) => deriveKey(secretKey, purpose).toString('hex')));
    expect(keys).not.toContain(deriveKey(`${secretKey}.`, 'secrets').toString('hex'));
  });
});
