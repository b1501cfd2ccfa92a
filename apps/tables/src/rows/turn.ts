import { setImmediate } from 'node:timers/promises';

const maxTurnMs = 5;

/** Work over many rows, which holds the event loop for one turn after the other and lets others have it in between. */
export class Turn {
  private end = performance.now() + maxTurnMs;

  get isOver(): boolean {
    return performance.now() > this.end;
  }

  async next(): Promise<void> {
    await setImmediate();
    this.end = performance.now() + maxTurnMs;
  }
}
