import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { ChatCallersCache } from './chat-callers.cache';

const user: Caller = { requestId: 'request', credential: 'user', userKey: 'key' };

/** Cache, and a chat service that accepts the key until the test revokes it. */
function setUp() {
  const chat = { asked: 0, isRevoked: false };
  const call = () => {
    chat.asked += 1;
    return chat.isRevoked
      ? Promise.reject(new ApiError('Unauthorized', 'The key was revoked.'))
      : Promise.resolve({ botId: 'bot' });
  };
  return { chat, cache: new ChatCallersCache({ call } as never) };
}

beforeEach(() => fakeClock('Date'));
afterEach(realClock);

it('asks the service once for concurrent requests, and uses its answer again', async () => {
  const { chat, cache } = setUp();

  await Promise.all([cache.verify(user, 'webhook'), cache.verify(user, 'webhook')]);
  await cache.verify(user, 'webhook');

  expect(chat.asked).toBe(1);
  expect(cache.find(user, 'webhook')).toMatchObject({ botId: 'bot' });
});

it('asks for each user key and each webhook', async () => {
  const { chat, cache } = setUp();

  await cache.verify(user, 'webhook');
  await cache.verify({ ...user, userKey: 'other' }, 'webhook');
  await cache.verify(user, 'other');

  expect(chat.asked).toBe(3);
});

it('trusts an answer for a second where an error tells what exists', async () => {
  const { chat, cache } = setUp();
  await cache.verify(user, 'webhook');
  chat.isRevoked = true;

  jest.setSystemTime(Date.now() + 1_000);
  await cache.verifyAfresh(user, 'webhook');
  jest.setSystemTime(Date.now() + 1);

  await expect(cache.verifyAfresh(user, 'webhook')).rejects.toMatchObject({ type: 'Unauthorized' });
});

it('trusts an answer longer that the service has confirmed by accepting a request', async () => {
  const { chat, cache } = setUp();
  await cache.verify(user, 'webhook');

  jest.setSystemTime(Date.now() + 5_000);
  cache.confirm(user, 'webhook');
  await cache.verifyAfresh(user, 'webhook');

  expect(chat.asked).toBe(1);
});

it('forgets the answer for a key that is refused now', async () => {
  const { chat, cache } = setUp();
  await cache.verify(user, 'webhook');
  chat.isRevoked = true;
  jest.setSystemTime(Date.now() + 1_001);

  await expect(cache.verifyAfresh(user, 'webhook')).rejects.toThrow('The key was revoked.');

  expect(cache.find(user, 'webhook')).toBeUndefined();
  await expect(cache.verify(user, 'webhook')).rejects.toThrow('The key was revoked.');
});

it.each(['x'.repeat(1_001), 'a\0b'])(
  'returns 404 for an impossible webhook id without asking: %j',
  async (webhookId) => {
    const { chat, cache } = setUp();

    await expect(cache.verify(user, webhookId)).rejects.toMatchObject({ code: 404 });
    expect(chat.asked).toBe(0);
  },
);
