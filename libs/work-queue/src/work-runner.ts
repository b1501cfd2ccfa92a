import { PollingWorker } from '@parley/background/polling-worker';
import type { Logger } from '@parley/logging/logger';
import { Leases } from './leases';
import type { FailureHandler, Queue, WorkerOptions, WorkHandler } from './queue';
import { QueueWorker, type AttemptEnd } from './queue-worker';
import type { LeasedWork, WorkRepository } from './work.repository';

const minPollMs = 1_000;
const maxPollMs = 5_000;
/** In the only process, every addition wakes its worker. */
const maxPollAloneMs = 15_000;
const repairMs = 60_000;
/** Time for the second commit of work that is being finished. */
const confirmMs = 5_000;

export interface RunnerOptions {
  /** Name of this process in the rows. */
  worker: string;
  /** True if the name is the same after a restart and no other process has it: leases of the last run end at the start. */
  isOnlyWorker: boolean;
  logger: Logger;
  /** Counts attempts, for metrics. */
  onAttemptEnded?: (queue: string, end: AttemptEnd) => void;
}

/**
 * Runs the workers of one service. Work that another process has added is found by `wake`, and without it within
 * `maxPollMs`: one statement for all queues, less often while nothing is found.
 */
export class WorkRunner {
  private readonly workers = new Map<string, QueueWorker>();
  private readonly leases: Leases;
  private readonly polling: PollingWorker;
  private readonly repairing: PollingWorker;
  private readonly stopping = new AbortController();
  private readonly maxPollMs: number;
  private pollMs = minPollMs;
  private isStarted = false;
  /** Queued work that had nothing before it at the last look. */
  private forgotten = new Set<string>();

  constructor(
    private readonly work: WorkRepository,
    private readonly options: RunnerOptions,
  ) {
    const { logger, isOnlyWorker } = options;
    this.maxPollMs = isOnlyWorker ? maxPollAloneMs : maxPollMs;
    this.leases = new Leases(work, logger);
    this.polling = new PollingWorker({ name: 'work.poll', intervalMs: this.maxPollMs, logger }, () => this.poll());
    this.repairing = new PollingWorker({ name: 'work.repair', intervalMs: repairMs, logger }, () => this.repair());
  }

  /** Registers the only worker of a queue in this process. */
  register<Payload>(
    queue: Queue<Payload>,
    options: WorkerOptions,
    handle: WorkHandler<Payload>,
    onFailed?: FailureHandler<Payload>,
  ): void {
    if (this.workers.has(queue.name)) throw new Error(`Two workers for the queue ${queue.name}.`);
    const worker = new QueueWorker(
      queue,
      options,
      handle as WorkHandler<unknown>,
      onFailed as FailureHandler | undefined,
      {
        ...this.options,
        work: this.work,
        leases: this.leases,
        stopping: this.stopping.signal,
        pollIn: (ms) => this.polling.wakeIn(ms),
        repairSoon: () => this.repairing.wake(),
      },
    );
    this.workers.set(queue.name, worker);
    if (this.isStarted) this.startAll();
  }

  async start(): Promise<void> {
    if (this.options.isOnlyWorker) await this.work.endLeasesOf(this.options.worker, [...this.workers.keys()]);
    this.isStarted = true;
    this.startAll();
  }

  /** Claims at once. Ignored for queues without a worker in this process. */
  wake(queue: string, dueAt?: Date): void {
    if (!this.workers.has(queue)) return;
    this.pollMs = minPollMs;
    if (dueAt) this.polling.wakeIn(Math.max(0, dueAt.getTime() - Date.now()));
    else this.workers.get(queue)!.wake();
  }

  /** Free places of a queue for work that starts as it is added. Give them back by `startAdded`. */
  reserve(queue: string): number {
    return this.workers.get(queue)?.reserve() ?? 0;
  }

  startAdded(queue: string, places: number, works: LeasedWork[], addedAt: number): Promise<void> {
    return this.workers.get(queue)!.startAdded(places, works, addedAt);
  }

  wakeAll(): void {
    this.pollMs = minPollMs;
    for (const worker of this.workers.values()) worker.wake();
    this.polling.wake();
  }

  /** Claims nothing more and aborts the signals of running work. */
  beginStop(): void {
    if (this.stopping.signal.aborted) return;
    this.stopping.abort(new Error('The process stops.'));
    this.leases.abortAll(this.stopping.signal.reason as Error);
  }

  /** Resolves when running work has ended. Work that ended because of the stop is given back. */
  async stop(): Promise<void> {
    this.beginStop();
    await Promise.all([this.polling.stop(), this.repairing.stop()]);
    await Promise.all([...this.workers.values()].map((worker) => worker.stop()));
    await this.leases.stop();
  }

  private startAll(): void {
    if (this.workers.size === 0) return;
    for (const worker of this.workers.values()) worker.start();
    this.polling.start();
    this.repairing.start();
  }

  private async poll(): Promise<boolean> {
    const attempts = [...this.workers.values()].map((worker) => worker.attempts);
    const { ready, nextDueMs = Infinity } = await this.work.releaseDueWork([...this.workers.keys()], attempts);
    this.pollMs = ready.length > 0 ? minPollMs : Math.min(this.pollMs * 2, this.maxPollMs);
    for (const queue of ready) this.workers.get(queue)?.wake();
    this.polling.wakeIn(Math.min(this.pollMs, Math.ceil(nextDueMs)));
    return false;
  }

  private async repair(): Promise<boolean> {
    await this.repairForgotten();
    const ahead = await this.work.advanceTooFarAhead();
    if (ahead > 0) this.options.logger.warn({ ahead }, 'found work that was due too far ahead: the clock went back');
    return false;
  }

  /** Two looks, because work that is just being finished looks the same. */
  private async repairForgotten(): Promise<void> {
    const known = this.forgotten;
    const works = await this.work.findForgotten();
    this.forgotten = new Set(works.map(idOf));
    const still = works.filter((work) => known.has(idOf(work)));
    if (still.length < works.length) this.repairing.wakeIn(confirmMs);
    const found = still.length > 0 ? await this.work.promoteForgotten(still) : 0;
    if (found === 0) return;
    this.options.logger.warn({ found }, 'found queued work that waited for nothing');
    this.polling.wake();
  }
}

const idOf = ({ queue, key }: { queue: string; key: string }) => `${queue} ${key}`;
