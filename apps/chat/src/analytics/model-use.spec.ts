import type { Distribution, ModelUseCounted } from '@parley/contracts/models/use';
import { type ChatBot, type ChatService, startChat } from '../test/chat-service';
import { RecordModelUseHandler } from './record-model-use.handler';

let api: ChatService;

beforeAll(async () => {
  api = await startChat();
});

afterAll(() => api?.stop());

const days = { startDate: '2026-03-01', endDate: '2026-03-02' };

function distributionOf(...values: number[]): Distribution {
  return {
    count: values.length,
    sum: values.reduce((sum, value) => sum + value, 0),
    squares: values.reduce((sum, value) => sum + value * value, 0),
    min: values.length > 0 ? Math.min(...values) : 0,
    max: values.length > 0 ? Math.max(...values) : 0,
  };
}

function useOf(bot: ChatBot, hour: string, calls: number, more: Partial<ModelUseCounted> = {}): ModelUseCounted {
  return {
    ...{ botId: bot.id, hour, calls, errors: 0, inputTokens: 10 * calls, outputTokens: calls },
    ...{ latency: distributionOf(), tokensPerSecond: distributionOf(), cost: distributionOf() },
    ...more,
  };
}

const record = (use: ModelUseCounted) => api.apps.at(-1)!.get(RecordModelUseHandler, { strict: false }).record(use);

const llmOf = async ({ id }: ChatBot) =>
  (await api.alice.client.getBotAnalytics({ id, ...days })).records.map(({ llm }) => llm);

it('sums the hours of a day, with mean and deviation over all calls', async () => {
  const bot = await api.newBot();
  await record(useOf(bot, '2026-03-01T00:00:00.000Z', 3, { errors: 1, latency: distributionOf(100, 300) }));
  await record(
    useOf(bot, '2026-03-01T23:00:00.000Z', 1, { latency: distributionOf(200), cost: distributionOf(0.25, 0.5) }),
  );
  await record(useOf(bot, '2026-03-02T00:00:00.000Z', 5));

  const [first, second] = await llmOf(bot);

  expect(first).toMatchObject({
    ...{ calls: 4, errors: 1, inputTokens: 40, outputTokens: 4 },
    latency: { mean: 200, sd: expect.closeTo(81.65, 2) as number, min: 100, max: 300 },
    cost: { sum: 0.75, mean: 0.375, min: 0.25, max: 0.5 },
    tokensPerSecond: { mean: 0, sd: 0, min: 0, max: 0 },
  });
  expect(second).toMatchObject({ calls: 5, latency: { mean: 0 } });
});

it('keeps the newest figures of an hour when events repeat or arrive late', async () => {
  const bot = await api.newBot();
  const hour = '2026-03-01T10:00:00.000Z';
  for (const calls of [2, 7, 7, 3]) await record(useOf(bot, hour, calls));

  expect((await llmOf(bot))[0]).toMatchObject({ calls: 7, inputTokens: 70 });
});
