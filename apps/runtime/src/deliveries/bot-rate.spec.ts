import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { RuntimeConfig } from '../config';
import { BotRateLimiter } from './bot-rate.limiter';

beforeEach(() => fakeClock('Date', 'setTimeout', 'clearTimeout'));
afterEach(realClock);

it('allows as many deliveries of a bot in a second as configured, and those of another bot beside them', async () => {
  const rates = new BotRateLimiter(Object.assign(new RuntimeConfig(), { deliveriesPerBotPerSecond: 2 }));
  const waits = async (count: number, botId = 'bot') =>
    Promise.all(Array.from({ length: count }, () => rates.msUntilAllowed(botId)));

  expect(await waits(3)).toEqual([0, 0, 1_000]);
  expect(await waits(1, 'other')).toEqual([0]);
  jest.advanceTimersByTime(400);
  expect(await waits(1)).toEqual([600]);
  jest.advanceTimersByTime(600);

  expect(await waits(3)).toEqual([0, 0, 1_000]);
  expect(rates.reason).toBe('The bot gets at most 2 events per second.');
});
