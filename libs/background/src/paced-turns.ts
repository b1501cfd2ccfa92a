import { setImmediate } from 'node:timers';
import { FairSemaphore, type FairSemaphoreOptions } from './fair-semaphore';
import { LoopShare, type LoopShareOptions } from './loop-share';

export interface Turn {
  /** For a turn without work. */
  end: () => void;
  /** Ends the turn when its share of the event loop allows more work. Call it after the work. */
  endRested: () => void;
}

/** Turns for work of tenants, each of which stays taken for a while after its work. */
export class PacedTurns {
  private readonly turns: FairSemaphore;
  private readonly share: LoopShare;

  /** `ofBusyLoop` is the share of each turn. */
  constructor(options: FairSemaphoreOptions & LoopShareOptions) {
    this.turns = new FairSemaphore(options);
    this.share = new LoopShare(options);
  }

  /** Rejects like FairSemaphore. */
  async take(tenant: string, signal?: AbortSignal): Promise<Turn> {
    const end = await this.turns.enter(tenant, signal);
    const busyMs = this.share.begin();
    // In a later turn of the loop: the result is serialised and sent in this one.
    return { end, endRested: () => void setImmediate(() => void this.share.rest(busyMs()).then(end)) };
  }
}
