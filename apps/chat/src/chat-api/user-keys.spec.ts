import { createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import * as fc from 'fast-check';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { ChatConfig } from '../config';
import { UserKeysService } from './user-keys.service';

const config = Object.assign(new ChatConfig(), { secretKey: 'a secret key of thirty-two letters' });
const keys = new UserKeysService(config);
const encryptionKey = 'only this bot knows';
const personal = { botId: randomUUID(), encryptionKey };
const shared = { botId: randomUUID() };
const refusal = { type: 'Unauthorized', message: expect.stringContaining('user key') as string };

type Signer = (body: string) => Buffer;

/** Builds a JWT by hand, with arbitrary header and payload. */
function keyOf(header: unknown, payload: unknown, signer: Signer): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${encode(header)}.${encode(payload)}`;
  return `${body}.${signer(body).toString('base64url')}`;
}

function hmac(secret: string, algorithm = 'sha256'): Signer {
  return (body) => createHmac(algorithm, secret).update(body).digest();
}

const header = { alg: 'HS256' };

function signed(payload: unknown, secret = encryptionKey): string {
  return keyOf(header, payload, hmac(secret));
}

describe('a user key', () => {
  it('identifies the user of an issued user key, with the shared key and with a bot key', async () => {
    for (const realm of [shared, personal]) {
      const key = await keys.sign(realm, 'ada');

      await expect(keys.verify(realm, key)).resolves.toBe('ada');
      await expect(keys.verify(realm, key)).resolves.toBe('ada');
    }
  });

  it('accepts a user key that any JWT library signed with the encryption key of the bot', async () => {
    const key = signed({ id: 'ada/1', more: [1] });

    await expect(keys.verify(personal, key)).resolves.toBe('ada/1');
  });

  it('accepts a user key signed with CHAT_ENCRYPTION_KEY for a bot without its own key', async () => {
    const chosen = new UserKeysService(
      Object.assign(new ChatConfig(), { ...config, chatEncryptionKey: 'shared by all' }),
    );
    const key = signed({ id: 'ada' }, 'shared by all');

    await expect(chosen.verify(shared, key)).resolves.toBe('ada');
    await expect(chosen.verify(personal, key)).rejects.toMatchObject(refusal);
    await expect(keys.verify(shared, key)).rejects.toMatchObject(refusal);
  });

  it('accepts a user key in another process with the same secret, not with another secret', async () => {
    const key = await keys.sign(shared, 'ada');
    const others = new UserKeysService(Object.assign(new ChatConfig(), { secretKey: `${config.secretKey}.` }));

    await expect(new UserKeysService(config).verify(shared, key)).resolves.toBe('ada');
    await expect(others.verify(shared, key)).rejects.toMatchObject(refusal);
  });

  it('accepts a user key while its signing key is a former key', async () => {
    const key = await keys.sign(shared, 'ada');
    const secretKey = 'another one of thirty-two letters!';
    const rotated = new UserKeysService(
      Object.assign(new ChatConfig(), { secretKey, formerSecretKeys: [config.secretKey] }),
    );

    const fresh = await rotated.sign(shared, 'ada');

    await expect(rotated.verify(shared, key)).resolves.toBe('ada');
    await expect(rotated.verify(shared, fresh)).resolves.toBe('ada');
    await expect(keys.verify(shared, fresh)).rejects.toMatchObject(refusal);
  });

  it('rejects a cached user key of another bot', async () => {
    const key = await keys.sign(shared, 'ada');
    await keys.verify(shared, key);

    await expect(keys.verify({ botId: randomUUID() }, key)).rejects.toMatchObject(refusal);
  });

  it('rejects a user key after the bot changed its encryption key', async () => {
    const key = signed({ id: 'ada' });
    await keys.verify(personal, key);

    await expect(keys.verify({ ...personal, encryptionKey: 'changed' }, key)).rejects.toMatchObject(refusal);
    await expect(keys.verify({ botId: personal.botId }, key)).rejects.toMatchObject(refusal);
  });

  it('rejects an expired user key, even if it is cached', async () => {
    fakeClock('Date', 'setTimeout', 'clearTimeout');
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
    const key = signed({ id: 'ada', exp: Math.floor(Date.now() / 1000) + 60 });
    await keys.verify(personal, key);

    jest.advanceTimersByTime(58_000);
    await expect(keys.verify(personal, key)).resolves.toBe('ada');
    jest.advanceTimersByTime(2_000);
    await expect(keys.verify(personal, key)).rejects.toMatchObject(refusal);

    clock.mockRestore();
    realClock();
  });

  const claims = { id: 'ada' };
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  it.each<[string, string]>([
    ['nothing', ''],
    ['no JWT', 'ada'],
    ['two dots', '..'],
    ['no signature', signed(claims).replace(/[^.]+$/, '')],
    ['the algorithm none', keyOf({ alg: 'none' }, claims, () => Buffer.of())],
    ['the algorithm none, with a signature', keyOf({ alg: 'none' }, claims, hmac(encryptionKey))],
    ['HS384', keyOf({ alg: 'HS384' }, claims, hmac(encryptionKey, 'sha384'))],
    ['HS512', keyOf({ alg: 'HS512' }, claims, hmac(encryptionKey, 'sha512'))],
    ['RS256', keyOf({ alg: 'RS256' }, claims, (body) => sign('sha256', Buffer.from(body), privateKey))],
    ['an algorithm in other letters', keyOf({ alg: 'hs256' }, claims, hmac(encryptionKey))],
    ['no algorithm', keyOf({}, claims, hmac(encryptionKey))],
    ['a critical header that is unknown', keyOf({ alg: 'HS256', crit: ['x'], x: 1 }, claims, hmac(encryptionKey))],
    ['another secret', signed(claims, 'something else')],
    ['an altered payload', withPayload(signed(claims), { id: 'eve' })],
    ['no id', signed({ sub: 'ada' })],
    ['an empty id', signed({ id: '' })],
    ['U+0000 in its id', signed({ id: 'ada\0' })],
    ['half of a surrogate pair in its id', signed({ id: 'ada\ud800' })],
    ['a number as id', signed({ id: 1 })],
    ['null as id', signed({ id: null })],
    ['an object as id', signed({ id: { $ne: '' } })],
    ['a list as id', signed({ id: ['ada'] })],
    ['a list as payload', signed(['ada'])],
    ['a text as payload', signed('ada')],
    ['another bot', signed({ id: 'ada', bot: randomUUID() })],
    ['a bot that is no text', signed({ id: 'ada', bot: null })],
    ['a time in which it is not good yet', signed({ id: 'ada', nbf: 9_999_999_999 })],
    ['an expiry that is no number', signed({ id: 'ada', exp: 'never' })],
  ])('rejects a user key with %s', async (_name, key) => {
    await expect(keys.verify(personal, key)).rejects.toMatchObject(refusal);
  });

  it('rejects a garbled user key', async () => {
    const [head, body, signature] = signed(claims).split('.') as [string, string, string];
    const parts = fc.oneof(fc.constantFrom(head, body, signature), fc.base64String(), fc.string());
    const garbage = fc.oneof(
      fc.string(),
      fc.tuple(parts, parts, parts).map((all) => all.join('.')),
    );

    await fc.assert(
      fc.asyncProperty(garbage, async (key) => {
        fc.pre(key !== `${head}.${body}.${signature}`);
        await expect(keys.verify(personal, key)).rejects.toMatchObject(refusal);
      }),
    );
  });
});

function withPayload(key: string, payload: object): string {
  return key
    .split('.')
    .with(1, Buffer.from(JSON.stringify(payload)).toString('base64url'))
    .join('.');
}
