import { sendSignal } from '@parley/local-postgres/server';

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor() {
    super('The run was interrupted: nothing was written.');
  }
}

/** Tracks everything that the run starts, and stops it at the end, even after an error. */
export class Session {
  private readonly steps: (() => Promise<void>)[] = [];
  private readonly frozen = new Set<number>();
  private interrupted = false;

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        // A second Ctrl-C exits immediately.
        if (this.interrupted) process.exit(130);
        this.interrupted = true;
        process.stderr.write('\nStopping what was started …\n');
      });
    }
    // A frozen (SIGSTOP) process would not react to a normal stop.
    process.on('exit', () => this.thaw());
  }

  /** Stops `thing` at the end of the run; returns it. */
  keep<T extends { stop(): Promise<void> }>(thing: T): T {
    this.steps.push(() => thing.stop());
    return thing;
  }

  /** Throws after Ctrl-C. Call it where the run can end. */
  checkpoint(): void {
    if (this.interrupted) throw new Interrupted();
  }

  /**
   * Freezes all processes except the running ones, so that background work of one side does not affect the figures of
   * another.
   */
  letRun(running: number[], all: number[]): void {
    const others = all.filter((pid) => !running.includes(pid));
    this.thaw();
    for (const pid of others) {
      process.kill(pid, 'SIGSTOP');
      this.frozen.add(pid);
    }
  }

  async stop(): Promise<void> {
    this.thaw();
    for (const step of this.steps.splice(0).reverse()) {
      await step().catch((error: unknown) => process.stderr.write(`Cleanup failed: ${String(error)}\n`));
    }
  }

  private thaw(): void {
    for (const pid of this.frozen) sendSignal(pid, 'SIGCONT');
    this.frozen.clear();
  }
}
