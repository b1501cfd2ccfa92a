import { setImmediate } from 'node:timers';
import { FairSemaphore, type FairSemaphoreOptions } from './fair-semaphore';
import { LoopShare, type LoopShareOptions } from './loop-share';

/** Turns for work of tenants. After its work, a turn stays taken until its share of the event loop allows more. */
export class PacedTurns {
  private readonly turns: FairSemaphore;
  private readonly share: LoopShare;

  /** `ofBusyLoop` is the share of each turn. */
  constructor(options: FairSemaphoreOptions & LoopShareOptions) {
    this.turns = new FairSemaphore(options);
    this.share = new LoopShare(options);
  }

  /** Resolves when the work is done, which is before the turn ends. Rejects like FairSemaphore. */
  async run<Result>(tenant: string, work: () => Result | Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const endTurn = await this.turns.enter(tenant, signal);
    const busyMs = this.share.begin();
    try {
      return await work();
    } finally {
      // In a later turn of the loop: the result is serialised and sent in this one.
      setImmediate(() => void this.share.rest(busyMs()).then(endTurn));
    }
  }
}
