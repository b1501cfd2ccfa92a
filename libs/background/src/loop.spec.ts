import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@parley/logging/logger';
import { until } from '@parley/testing/until';
import { Loop } from './loop';

const logger = createLogger('test', 'silent');

function loopOf(intervalMs: number, round: () => Promise<boolean>): Loop {
  return new Loop({ name: 'test', intervalMs, logger }, round);
}

describe('A background loop', () => {
  it('goes on without a pause while there is more to do, and rests when there is not', async () => {
    let left = 50;
    let rounds = 0;
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      left -= 1;
      return left > 0;
    });

    loop.start();
    await until(() => left === 0);
    await sleep(50);
    await loop.stop();

    expect(rounds).toBe(50);
  });

  it('begins another round after its interval', async () => {
    let rounds = 0;
    const loop = loopOf(20, async () => {
      rounds += 1;
      return false;
    });

    loop.start();

    await until(() => rounds >= 3);
    await loop.stop();
  });

  it('begins the next round at once when it is woken from its pause', async () => {
    let rounds = 0;
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      return false;
    });
    loop.start();
    await until(() => rounds === 1);

    loop.wake();

    await until(() => rounds === 2);
    await loop.stop();
  });

  it('begins a round at the earliest of the times that it was told', async () => {
    const rounds: number[] = [];
    const loop = loopOf(60_000, async () => {
      rounds.push(performance.now());
      return false;
    });
    loop.start();
    await until(() => rounds.length === 1);
    const told = performance.now();

    loop.wakeIn(30_000);
    loop.wakeIn(50);
    loop.wakeIn(10_000);

    await until(() => rounds.length === 2);
    expect(rounds[1]! - told).toBeGreaterThan(40);
    await loop.stop();
  });

  it('can be told a time that lies further away than a timer reaches, and stopped before it comes', async () => {
    let rounds = 0;
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      return false;
    });
    loop.start();
    await until(() => rounds === 1);

    loop.wakeIn(366 * 86_400_000);
    await sleep(50);
    await loop.stop();

    expect(rounds).toBe(1);
  });

  it('begins one more round when it was woken during one', async () => {
    let rounds = 0;
    let release = () => {};
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      if (rounds === 1) await new Promise<void>((resolve) => (release = resolve));
      return false;
    });
    loop.start();
    await until(() => rounds === 1);

    loop.wake();
    loop.wake();
    release();

    await until(() => rounds === 2);
    await sleep(50);
    await loop.stop();
    expect(rounds).toBe(2);
  });

  it('never runs two rounds at once, however often it is started and woken', async () => {
    let running = 0;
    let most = 0;
    let rounds = 0;
    const loop = loopOf(1, async () => {
      running += 1;
      most = Math.max(most, running);
      await sleep(2);
      running -= 1;
      rounds += 1;
      return true;
    });

    loop.start();
    loop.start();
    while (rounds < 10) {
      loop.wake();
      await sleep(1);
    }
    await loop.stop();

    expect(most).toBe(1);
  });

  it('survives rounds that fail, with a pause after each', async () => {
    let rounds = 0;
    const loop = loopOf(100, () => {
      rounds += 1;
      throw new Error('This round does not work.');
    });
    const started = performance.now();

    loop.start();
    await until(() => rounds === 4);
    await loop.stop();

    expect(performance.now() - started).toBeGreaterThan(250);
  });

  it('ends its round before it stops, and begins no other', async () => {
    let rounds = 0;
    let ended = 0;
    const loop = loopOf(1, async () => {
      rounds += 1;
      await sleep(50);
      ended += 1;
      return true;
    });
    loop.start();
    await until(() => rounds === 1);

    await loop.stop();
    loop.wake();
    loop.start();
    await sleep(30);

    expect(ended).toBe(1);
    expect(rounds).toBe(1);
  });

  it('stops at once in a pause, and when it was never started', async () => {
    let rounds = 0;
    const resting = loopOf(60_000, async () => {
      rounds += 1;
      return false;
    });
    const idle = loopOf(60_000, async () => false);
    resting.start();
    await until(() => rounds === 1);

    await resting.stop();
    await idle.stop();

    expect(rounds).toBe(1);
  });
});
