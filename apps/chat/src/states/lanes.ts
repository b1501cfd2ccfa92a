import { Slots } from '@parley/background/slots';

/** Lets work with the same key happen one after the other, in the order in which it came. */
export class Lanes {
  private readonly lanes = new Map<string, { slot: Slots; users: number }>();

  /** @param waitMs how long work may wait for what came before. Then it rejects with a TimeoutError, and does not begin. */
  async run<T>(key: string, waitMs: number, work: () => Promise<T>): Promise<T> {
    const lane = this.lanes.get(key) ?? { slot: new Slots(1), users: 0 };
    this.lanes.set(key, lane);
    const isFree = lane.users++ === 0;
    try {
      return await lane.slot.run(work, isFree ? undefined : AbortSignal.timeout(waitMs));
    } finally {
      if (--lane.users === 0) this.lanes.delete(key);
    }
  }
}
