import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '@parley/testing/until';
import { LoopDelay } from './loop-delay';

/** What is measured is this very process, which a machine may hold up too. Each failure is printed. */
jest.retryTimes(2, { logErrorsBeforeRetry: true });

const lateMs = 150;
const mostPieces = 40;

/** Keeps one turn of the event loop busy for so long. */
async function block(ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end);
  await nextTurn();
}

describe('the delay of an event loop', () => {
  let delay: LoopDelay;

  beforeEach(() => (delay = new LoopDelay(400)));
  afterEach(() => delay.stop());

  it('is seen while it lasts, and no longer', async () => {
    for (let pieces = 0; pieces < mostPieces && delay.ms <= lateMs; pieces += 1) await block(300);

    expect(delay.ms).toBeGreaterThan(lateMs);
    await until(() => delay.ms < lateMs);
  });

  it('is not that of one long piece of work', async () => {
    await block(1_000);
    let worst = 0;
    const end = performance.now() + 1_200;
    await until(() => {
      worst = Math.max(worst, delay.ms);
      return performance.now() > end;
    });

    expect(worst).toBeLessThan(lateMs);
  });
});
