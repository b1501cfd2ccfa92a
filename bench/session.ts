import { sendSignal } from '@parley/local-postgres/server';

/** Somebody pressed Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor() {
    super('The run was interrupted: nothing was written.');
  }
}

/** What this run has started, so that all of it is stopped again however the run ends. */
export class Session {
  private readonly steps: (() => Promise<void>)[] = [];
  private readonly frozen = new Set<number>();
  private interrupted = false;

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        // Who asks twice does not want to wait for anything.
        if (this.interrupted) process.exit(130);
        this.interrupted = true;
        process.stderr.write('\nStopping what was started …\n');
      });
    }
    // A frozen process could not be stopped by anybody who does not know that it is frozen.
    process.on('exit', () => this.thaw());
  }

  /** The same thing, which is stopped at the end. */
  keep<T extends { stop(): Promise<void> }>(thing: T): T {
    this.steps.push(() => thing.stop());
    return thing;
  }

  /** To be called where the run can end: throws after Ctrl-C. */
  checkpoint(): void {
    if (this.interrupted) throw new Interrupted();
  }

  /** Lets only these processes run on, of all that take turns, so that nobody's background work disturbs another's figures. */
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
      await step().catch((error: unknown) =>
        process.stderr.write(`Something could not be stopped: ${String(error)}\n`),
      );
    }
  }

  private thaw(): void {
    for (const pid of this.frozen) sendSignal(pid, 'SIGCONT');
    this.frozen.clear();
  }
}
