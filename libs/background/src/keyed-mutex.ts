import { Semaphore } from '@parley/background/semaphore';

/** Keyed mutex: runs work with the same key one after the other, in order of arrival. */
export class KeyedMutex {
  private readonly locks = new Map<string, { semaphore: Semaphore; users: number }>();

  /** `waitMs`: maximum wait for earlier work. Then it rejects with a TimeoutError, and the work is not started. */
  async run<T>(key: string, waitMs: number, work: () => Promise<T>): Promise<T> {
    const lock = this.locks.get(key) ?? { semaphore: new Semaphore(1), users: 0 };
    this.locks.set(key, lock);
    const isFree = lock.users++ === 0;
    try {
      return await lock.semaphore.run(work, isFree ? undefined : AbortSignal.timeout(waitMs));
    } finally {
      if (--lock.users === 0) this.locks.delete(key);
    }
  }
}
