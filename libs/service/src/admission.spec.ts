import { Admission, type AdmissionOptions } from './admission';
import { Metrics } from './metrics';

const busy = expect.objectContaining({ type: 'Internal', code: 503, retryAfterSeconds: 1 }) as Error;
let metrics: Metrics;

function admissionOf(changes: Partial<AdmissionOptions> = {}): Admission {
  metrics = new Metrics();
  return new Admission({ place: 'here', max: 2, maxLoopDelayMs: 60_000, metrics, ...changes });
}

const shown = async (name: string) => (await metrics.registry.metrics()).match(new RegExp(`^${name}.*$`, 'gm'));

describe('an admission', () => {
  it('rejects requests over the limit, until one ends for the first time', () => {
    const admission = admissionOf();
    const [leave] = [admission.enter(), admission.enter()];

    expect(() => admission.enter()).toThrow(busy);
    leave();
    leave();
    admission.enter();
    expect(() => admission.enter()).toThrow(busy);
  });

  it('counts requests that it must not reject', () => {
    const admission = admissionOf();

    const leave = [1, 2, 3].map(() => admission.enterAnyway());

    expect(() => admission.enter()).toThrow(busy);
    leave.forEach((each) => each());
    admission.enter();
  });

  it('lets a tenant have as many slots as are free', () => {
    const admission = admissionOf({ max: 6 });

    const [leave] = [admission.enter('a'), admission.enter('a'), admission.enter('a')];
    expect(() => admission.enter('a')).toThrow(busy);
    admission.enter('b');
    expect(() => [admission.enter('b'), admission.enter('b')]).toThrow(busy);
    leave();
    leave();
    expect(() => admission.enter('a')).toThrow(busy);
    admission.enter('c');
  });

  it('has metrics of admitted and rejected requests', async () => {
    const admission = admissionOf({ max: 1 });
    admission.enter();
    expect(() => admission.enter()).toThrow(busy);

    expect(await shown('parley_under_way')).toEqual(['parley_under_way{place="here"} 1']);
    expect(await shown('parley_shed_total')).toEqual(['parley_shed_total{place="here",reason="under way"} 1']);
  });

  it('rejects all requests while the event loop is late', async () => {
    let loopDelayMs = 150;
    const admission = admissionOf({ maxLoopDelayMs: 150, loopDelayMs: () => loopDelayMs });
    admission.enter();

    loopDelayMs = 151;

    expect(() => admission.enter()).toThrow(busy);
    expect(await shown('parley_shed_total')).toEqual(['parley_shed_total{place="here",reason="event loop"} 1']);
    loopDelayMs = 150;
    admission.enter();
  });
});
