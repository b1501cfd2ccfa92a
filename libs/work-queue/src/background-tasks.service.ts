import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { PollingWorker } from '@parley/background/polling-worker';
import type { Logger } from '@parley/logging/logger';
import type { WorkRunner } from './work-runner';
import { findMarked, type Round } from './worker';

/** Varies a pause by up to a tenth, so that tasks and replicas do not run at once. */
const jittered = (ms: number) => ms * (0.9 + Math.random() / 5);

/** Starts and stops the methods with `@Worker` and `@Every` of one app. */
@Injectable()
export class BackgroundTasks {
  private readonly loops = new Map<string, PollingWorker>();
  private readonly stopping = new AbortController();

  /** @param runner absent in services without the table `work` */
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly logger: Logger,
    private readonly runner?: WorkRunner,
  ) {}

  async start(): Promise<void> {
    const { workers, failures, rounds } = findMarked(this.discovery, this.scanner);
    for (const { value, instance, method } of workers) {
      const onFailed = failures.find((failure) => failure.value.name === value.queue.name);
      this.requireRunner(value.queue.name).register(
        value.queue,
        typeof value.options === 'function' ? value.options(instance) : value.options,
        method as never,
        onFailed?.method as never,
      );
    }
    for (const { value, instance, method } of rounds) {
      const everyMs = typeof value.everyMs === 'number' ? value.everyMs : value.everyMs(instance);
      this.schedule(value.name, jittered(everyMs), method as (round: Round) => Promise<boolean | void>);
    }
    await this.runner?.start();
    for (const loop of this.loops.values()) loop.start();
  }

  /** Starts the next round of a periodic task at once, or after this time at the latest. */
  wake(name: string, inMs = 0): void {
    const loop = this.loops.get(name);
    if (inMs > 0) loop?.wakeIn(inMs);
    else loop?.wake();
  }

  /** Aborts all signals. Nothing more is claimed. */
  beginStop(): void {
    this.stopping.abort(new Error('The process stops.'));
    this.runner?.beginStop();
  }

  /** Resolves when all rounds and workers have ended. */
  async stop(): Promise<void> {
    this.beginStop();
    await Promise.all([this.runner?.stop(), ...[...this.loops.values()].map((loop) => loop.stop())]);
  }

  private schedule(name: string, everyMs: number, run: (round: Round) => Promise<boolean | void>): void {
    if (this.loops.has(name)) throw new Error(`Two periodic tasks have the name ${name}.`);
    const { signal } = this.stopping;
    const round = async () => {
      if (signal.aborted) return false;
      const more = await run({ signal, againIn: (ms) => loop.wakeIn(ms) });
      return more === true && !signal.aborted;
    };
    const loop = new PollingWorker({ name, intervalMs: everyMs, logger: this.logger }, round);
    this.loops.set(name, loop);
  }

  private requireRunner(name: string): WorkRunner {
    if (!this.runner) throw new Error(`The worker of ${name} needs the table "work": add WorkEntity to the schema.`);
    return this.runner;
  }
}
