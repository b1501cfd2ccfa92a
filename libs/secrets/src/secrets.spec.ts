import { deriveKey } from './derived-key';
import { SecretBox } from './secret-box';
import { hashToken, newToken, operatorToken, tokenKind } from './token';

const secretKey = 'a secret key of thirty-two letters';

describe('tokens', () => {
  it('carry their kind and at least 160 random bits, and never repeat', () => {
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
  ])('are refused by their form alone when wrong: %s', (_name, change) => {
    expect(tokenKind(change(newToken('pat')))).toBeUndefined();
  });

  it('are the same for the operator under one key, and different under another', () => {
    expect(tokenKind(operatorToken(secretKey))).toBe('operator');
    expect(operatorToken(secretKey)).toBe(operatorToken(secretKey));
    expect(operatorToken(secretKey)).not.toBe(operatorToken(`${secretKey}.`));
  });

  it('are stored as SHA-256', () => {
    expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

describe('the secret box', () => {
  const box = new SecretBox(deriveKey(secretKey, 'secrets'));

  it('opens what it sealed, and seals the same text differently each time', () => {
    const sealed = box.seal('hush ü');

    expect(box.open(sealed)).toBe('hush ü');
    expect(box.seal('hush ü')).not.toBe(sealed);
  });

  it('refuses what was altered or sealed under another key', () => {
    const sealed = box.seal('hush');
    const altered = Buffer.from(sealed, 'base64');
    altered[altered.length - 1]! ^= 1;

    expect(() => box.open(altered.toString('base64'))).toThrow();
    expect(() => new SecretBox(deriveKey(secretKey, 'operator')).open(sealed)).toThrow();
  });

  it('refuses what was cut, however little of it is left', () => {
    const sealed = Buffer.from(box.seal(''), 'base64');

    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => box.open(sealed.subarray(0, length).toString('base64'))).toThrow();
    }
    expect(box.open(sealed.toString('base64'))).toBe('');
  });
});

describe('a derived key', () => {
  it('has 32 bytes, the same for the same purpose and others for others', () => {
    const purposes = ['secrets', 'content-urls', 'bot-code-urls', 'operator'] as const;

    const keys = purposes.map((purpose) => deriveKey(secretKey, purpose).toString('hex'));

    expect(keys.map((key) => key.length)).toEqual([64, 64, 64, 64]);
    expect(new Set(keys).size).toBe(4);
    expect(keys).toEqual(purposes.map((purpose) => deriveKey(secretKey, purpose).toString('hex')));
    expect(keys).not.toContain(deriveKey(`${secretKey}.`, 'secrets').toString('hex'));
  });
});
