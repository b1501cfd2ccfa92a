import { LargeRequestSemaphore } from './large-requests';

describe('Large requests of a service', () => {
  const settled = () => new Promise(setImmediate);

  it('runs two large requests of a tenant at once, four in all', async () => {
    const semaphore = new LargeRequestSemaphore();
    const running: string[] = [];
    const ends = new Map<string, () => void>();
    const run = (name: string) =>
      semaphore.run(name[0]!, () => {
        running.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      });

    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(run);
    await settled();
    const first = [...running];
    for (const name of ['a1', 'b1']) ends.get(name)!();
    await settled();

    expect(first).toEqual(['a1', 'a2', 'b1', 'b2']);
    expect(running.slice(4).sort()).toEqual(['a3', 'c1']);
    ends.forEach((end) => end());
    await Promise.all(all);
  });

  it('returns 503 for large requests when too many of the tenant wait, but not for another tenant', async () => {
    const semaphore = new LargeRequestSemaphore();
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const waiting = Array.from({ length: 2 + 20 }, () => semaphore.run('a', () => ended));
    await settled();

    await expect(semaphore.run('a', () => ended)).rejects.toMatchObject({ code: 503, retryAfterSeconds: 1 });
    await expect(semaphore.run('b', () => Promise.resolve('done'))).resolves.toBe('done');

    end();
    await Promise.all(waiting);
  });
});
