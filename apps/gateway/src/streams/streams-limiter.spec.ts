import type { Listener } from '@parley/contracts/chat/signals';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import { GatewayConfig } from '../config';
import { StreamsLimiter } from './streams.limiter';

const refused = { type: 'RateLimited', code: 429 };
const listenerOf = (user: number): Listener => ({
  botId: `bot ${user}`,
  conversationId: 'conv',
  userId: `user ${user}`,
});

function limiterOf(listenMaxStreams: number): StreamsLimiter {
  return new StreamsLimiter(Object.assign(new GatewayConfig(), { listenMaxStreams }), {
    metrics: new Metrics(),
  } as Platform);
}

const open = (_listener: Listener, leave: () => void) => leave;

it('counts a stream from its authorization until it is left', async () => {
  const limiter = limiterOf(2);
  let authorize!: (listener: Listener) => void;
  const authorizing = limiter.enter(() => new Promise((resolve) => (authorize = resolve)), open);
  const first = await limiter.enter(() => Promise.resolve(listenerOf(1)), open);

  await expect(limiter.enter(() => Promise.resolve(listenerOf(2)), open)).rejects.toMatchObject(refused);
  authorize(listenerOf(3));
  await authorizing;
  await expect(limiter.enter(() => Promise.resolve(listenerOf(2)), open)).rejects.toMatchObject(refused);
  first();

  await expect(limiter.enter(() => Promise.resolve(listenerOf(2)), open)).resolves.toEqual(expect.any(Function));
});

it('counts no stream whose authorization or opening fails', async () => {
  const limiter = limiterOf(1);
  const broken = () => {
    throw new Error('broken');
  };

  await expect(limiter.enter(() => Promise.reject(new Error('refused')), open)).rejects.toThrow('refused');
  await expect(limiter.enter(() => Promise.resolve(listenerOf(1)), broken)).rejects.toThrow('broken');

  await expect(limiter.enter(() => Promise.resolve(listenerOf(1)), open)).resolves.toEqual(expect.any(Function));
});

it.each([
  ['a twentieth of the streams of a gateway', 1_000, 50],
  ['twenty streams of a small gateway', 100, 20],
])('gives the users of one bot %s, and other bots the rest', async (_share, listenMaxStreams, share) => {
  const limiter = limiterOf(listenMaxStreams);
  const enter = (botId: string, user: number) =>
    limiter.enter(() => Promise.resolve({ ...listenerOf(user), botId }), open);

  for (let user = 0; user < share; user += 1) await enter('one', user);

  await expect(enter('one', share)).rejects.toMatchObject(refused);
  await expect(enter('other', 0)).resolves.toEqual(expect.any(Function));
});
