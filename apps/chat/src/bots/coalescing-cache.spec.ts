import { cacheClock } from '@parley/testing/cache-clock';
import { waitFor } from '@parley/testing/wait-for';
import { CoalescingCache } from './coalescing-cache';

interface Value {
  of: string;
}

function newCache() {
  const fetches: { resolve: (text: string) => void; fail: (reason: Error) => void }[] = [];
  const cache = new CoalescingCache<Value>(
    10,
    () =>
      new Promise((resolve, reject) => {
        fetches.push({ resolve: (of) => resolve({ of }), fail: reject });
      }),
  );
  const fetchNumber = async (number: number) => {
    await waitFor(() => fetches.length >= number);
    return fetches[number - 1]!;
  };
  return { fetches, cache, fetchNumber };
}

const isNew = ({ of }: Value) => of === 'new';

afterEach(() => void jest.restoreAllMocks());

describe('cached values', () => {
  it('fetches a value again for each later caller that rejects it', async () => {
    const { fetches, cache, fetchNumber } = newCache();
    const first = cache.get('a');
    (await fetchNumber(1)).resolve('old');
    await first;

    for (const [number, text] of [
      [2, 'older'],
      [3, 'new'],
    ] as const) {
      const refused = cache.get('a', isNew);
      (await fetchNumber(number)).resolve(text);
      expect(await refused).toEqual({ of: text });
    }

    expect(fetches).toHaveLength(3);
  });

  it('fetches a cached value again after a second', async () => {
    const { pass } = cacheClock();
    const { fetches, cache, fetchNumber } = newCache();
    const first = cache.get('a');
    (await fetchNumber(1)).resolve('old');
    await first;

    pass(1_000);
    expect(await cache.get('a')).toEqual({ of: 'old' });
    pass(1);
    const next = cache.get('a');
    (await fetchNumber(2)).resolve('new');

    expect(await next).toEqual({ of: 'new' });
    expect(fetches).toHaveLength(2);
  });

  it('fetches a cached value once for concurrent callers while it is valid', async () => {
    const { fetches, cache, fetchNumber } = newCache();

    const early = [cache.get('a'), cache.get('a', isNew)];
    (await fetchNumber(1)).resolve('new');
    const late = cache.get('a', isNew);

    expect(await Promise.all([...early, late])).toEqual([{ of: 'new' }, { of: 'new' }, { of: 'new' }]);
    expect(fetches).toHaveLength(1);
  });

  it('fetches again for a caller that rejects the cached value, even while an older fetch is running', async () => {
    const { fetches, cache, fetchNumber } = newCache();
    const early = cache.get('a');
    const first = await fetchNumber(1);

    const refused = cache.get('a', isNew);
    first.resolve('old');
    (await fetchNumber(2)).resolve('new');

    expect([await early, await refused]).toEqual([{ of: 'old' }, { of: 'new' }]);
    expect(await cache.get('a', isNew)).toEqual({ of: 'new' });
    expect(fetches).toHaveLength(2);
  });

  it('does not fetch twice for the caller that fetched first', async () => {
    const { fetches, cache, fetchNumber } = newCache();

    const refused = cache.get('a', isNew);
    (await fetchNumber(1)).resolve('old');

    expect(await refused).toEqual({ of: 'old' });
    expect(fetches).toHaveLength(1);
  });

  it('fetches once for all concurrent callers that reject the cached value', async () => {
    const { fetches, cache, fetchNumber } = newCache();
    const early = cache.get('a');
    (await fetchNumber(1)).resolve('old');
    await early;

    const refused = Array.from({ length: 100 }, () => cache.get('a', isNew));
    (await fetchNumber(2)).resolve('old');
    await Promise.all(refused);

    expect(fetches).toHaveLength(2);
  });

  it('keeps the cached value when a refetch fails, and returns the error to the caller', async () => {
    const { cache, fetchNumber } = newCache();
    const early = cache.get('a');
    (await fetchNumber(1)).resolve('old');
    await early;

    const refused = cache.get('a', isNew);
    (await fetchNumber(2)).fail(new Error('away'));

    await expect(refused).rejects.toThrow('away');
    expect(await cache.get('a')).toEqual({ of: 'old' });
  });
});
