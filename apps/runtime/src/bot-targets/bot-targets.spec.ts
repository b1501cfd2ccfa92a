import type { ParleyClient } from '@parley/transport/parley-client';
import { BotTargetsCache } from './bot-targets.cache';

it('answers who waits while the bot is forgotten, and asks again afterwards', async () => {
  const answers: ((target: object) => void)[] = [];
  const call = () => new Promise((resolve) => answers.push(resolve));
  const cache = new BotTargetsCache({ call } as unknown as ParleyClient);

  const before = cache.get('bot-1');
  cache.forget('bot-1');
  const after = cache.get('bot-1');
  answers[0]!({ revision: 1 });
  answers[1]!({ revision: 2 });

  expect(await before).toEqual({ revision: 1 });
  expect(await after).toEqual({ revision: 2 });
  expect(await cache.get('bot-1')).toEqual({ revision: 2 });
});
