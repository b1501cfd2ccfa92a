import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '@parley/testing/until';
import { LoopDelay } from './loop-delay';

const lateMs = 150;

/** Keeps the event loop busy, in pieces of this length. */
async function block(pieces: number, ms: number): Promise<void> {
  for (let piece = 0; piece < pieces; piece += 1) {
    const end = performance.now() + ms;
    while (performance.now() < end);
    await nextTurn();
  }
}

describe('the delay of an event loop', () => {
  let delay: LoopDelay;

  beforeEach(() => (delay = new LoopDelay(400)));
  afterEach(() => delay.stop());

  it('is seen while it lasts, and no longer', async () => {
    await block(8, 300);
    const whileBusy = delay.ms;

    expect(whileBusy).toBeGreaterThan(lateMs);
    await until(() => delay.ms < lateMs);
  });

  it('is not that of one long piece of work', async () => {
    await block(1, 1_000);
    let worst = 0;
    const end = performance.now() + 1_200;
    await until(() => {
      worst = Math.max(worst, delay.ms);
      return performance.now() > end;
    });

    expect(worst).toBeLessThan(lateMs);
  });
});
