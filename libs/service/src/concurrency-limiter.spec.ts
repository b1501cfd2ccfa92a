import { ConcurrencyLimiter, type ConcurrencyLimiterOptions } from './concurrency-limiter';
import { Metrics } from './metrics';

const busy = expect.objectContaining({ type: 'Internal', code: 503, retryAfterSeconds: 1 }) as Error;
let metrics: Metrics;

function limiterOf(changes: Partial<ConcurrencyLimiterOptions> = {}): ConcurrencyLimiter {
  metrics = new Metrics();
  return new ConcurrencyLimiter({ place: 'here', max: 2, maxLoopDelayMs: 60_000, metrics, ...changes });
}

const shown = async (name: string) => (await metrics.registry.metrics()).match(new RegExp(`^${name}.*$`, 'gm'));

describe('a concurrency limiter', () => {
  it('rejects requests over the limit, until one ends for the first time', () => {
    const limiter = limiterOf();
    const [leave] = [limiter.enter(), limiter.enter()];

    expect(() => limiter.enter()).toThrow(busy);
    leave();
    leave();
    limiter.enter();
    expect(() => limiter.enter()).toThrow(busy);
  });

  it('counts requests that the limiter must not reject', () => {
    const limiter = limiterOf();

    const leave = [1, 2, 3].map(() => limiter.enterAnyway());

    expect(() => limiter.enter()).toThrow(busy);
    leave.forEach((each) => each());
    limiter.enter();
  });

  it('lets a tenant have as many slots as are free', () => {
    const limiter = limiterOf({ max: 6 });

    const [leave] = [limiter.enter('a'), limiter.enter('a'), limiter.enter('a')];
    expect(() => limiter.enter('a')).toThrow(busy);
    limiter.enter('b');
    expect(() => [limiter.enter('b'), limiter.enter('b')]).toThrow(busy);
    leave();
    leave();
    expect(() => limiter.enter('a')).toThrow(busy);
    limiter.enter('c');
  });

  it('counts admitted and rejected requests in metrics', async () => {
    const limiter = limiterOf({ max: 1 });
    limiter.enter();
    expect(() => limiter.enter()).toThrow(busy);

    expect(await shown('parley_under_way')).toEqual(['parley_under_way{place="here"} 1']);
    expect(await shown('parley_shed_total')).toEqual(['parley_shed_total{place="here",reason="under way"} 1']);
  });

  it('rejects all requests while the event loop is late', async () => {
    let loopDelayMs = 150;
    const limiter = limiterOf({ maxLoopDelayMs: 150, loopDelayMs: () => loopDelayMs });
    limiter.enter();

    loopDelayMs = 151;

    expect(() => limiter.enter()).toThrow(busy);
    expect(await shown('parley_shed_total')).toEqual(['parley_shed_total{place="here",reason="event loop"} 1']);
    loopDelayMs = 150;
    limiter.enter();
  });
});
