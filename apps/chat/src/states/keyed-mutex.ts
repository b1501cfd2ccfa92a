import { Semaphore } from '@parley/background/semaphore';

/** Keyed mutex: runs work with the same key one after the other, in order of arrival. */
export class KeyedMutex {
  private readonly lanes = new Map<string, { slot: Semaphore; users: number }>();

  /** `waitMs`: maximum wait for earlier work. Then it rejects with a TimeoutError, and the work is not started. */
  async run<T>(key: string, waitMs: number, work: () => Promise<T>): Promise<T> {
    const lane = this.lanes.get(key) ?? { slot: new Semaphore(1), users: 0 };
    this.lanes.set(key, lane);
    const isFree = lane.users++ === 0;
    try {
      return await lane.slot.run(work, isFree ? undefined : AbortSignal.timeout(waitMs));
    } finally {
      if (--lane.users === 0) this.lanes.delete(key);
    }
  }
}
