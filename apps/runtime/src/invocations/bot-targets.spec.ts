import type { ParleyClient } from '@parley/transport/parley-client';
import { cacheClock } from '@parley/testing/cache-clock';
import { IntegrationTargetsCache } from './integration-targets.cache';
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

afterEach(() => void jest.restoreAllMocks());

it('asks for a bot, an installation and an integration again after a second', async () => {
  const { pass } = cacheClock();
  let asked = 0;
  const client = { call: () => Promise.resolve({ integrationId: 'integration', asked: (asked += 1) }) } as never;
  const [bots, integrations] = [new BotTargetsCache(client), new IntegrationTargetsCache(client)];
  const readAll = () =>
    Promise.all([bots.get('bot'), integrations.getByAlias('bot', 'mail'), integrations.getByWebhookId('webhook')]);

  await readAll();
  pass(1_000);
  await readAll();
  expect(asked).toBe(4);
  pass(1);
  await readAll();

  expect(asked).toBe(8);
});
