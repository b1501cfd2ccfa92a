import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { PollingWorker } from '@parley/background/polling-worker';
import type { Logger } from '@parley/logging/logger';
import type { Sql } from '@parley/persistence/database';
import {
  type Condition,
  type DueRows,
  findDueRows,
  type LateFilter,
  listLateRows,
  type LateRow,
  measureLateRows,
} from '@parley/persistence/due-rows';
import type { WorkRunner } from './work-runner';
import type { QueueDepth } from './work.repository';
import { findMarked, type PeriodicTask, type Round } from './worker';

const lookForDueRows = 'due rows';
const longestStartMs = 500;

/** Varies a pause by up to a tenth, so that tasks and replicas do not run at once. */
const jittered = (ms: number) => ms * (0.9 + Math.random() / 5);

const intervalOf = ({ everyMs }: PeriodicTask<unknown>, instance: object) =>
  typeof everyMs === 'number' ? everyMs : everyMs(instance);

/** Starts and stops the methods with `@Worker`, `@Every` and `@WhenDue` of one app. */
@Injectable()
export class BackgroundTasks {
  private readonly loops = new Map<string, PollingWorker>();
  private readonly looks = new Map<string, DueRows | Condition>();
  /** Tasks whose rows were due at the last look. */
  private readonly due = new Set<string>();
  private readonly stopping = new AbortController();

  /** @param runner absent in services without the table `work` */
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly logger: Logger,
    private readonly sql: Sql,
    private readonly runner?: WorkRunner,
  ) {}

  async start(): Promise<void> {
    const { workers, failures, rounds, dueTasks } = findMarked(this.discovery, this.scanner);
    for (const { value, instance, method } of workers) {
      const onFailed = failures.find((failure) => failure.value.name === value.queue.name);
      this.requireRunner(value.queue.name).register(
        value.queue,
        typeof value.options === 'function' ? value.options(instance) : value.options,
        method as never,
        onFailed?.method as never,
      );
    }
    for (const { value, instance, method } of rounds)
      this.schedule(value.name, intervalOf(value, instance), method as (round: Round) => Promise<boolean | void>);
    for (const { value, method } of dueTasks) {
      this.schedule(value.name, Infinity, (round) => this.runIfDue(value.name, () => method(round)));
      this.looks.set(value.name, value.rows);
    }
    if (dueTasks.length > 0) {
      const everyMs = Math.min(...dueTasks.map(({ value, instance }) => intervalOf(value, instance)));
      this.schedule(lookForDueRows, everyMs, (round) => this.findDue(round));
    }
    await this.runner?.start();
    void this.startLoops();
  }

  /** Starts the next round of a periodic task at once, or after this time at the latest: with `@WhenDue`, the next look. */
  wake(name: string, inMs = 0): void {
    const loop = this.loops.get(this.looks.has(name) ? lookForDueRows : name);
    if (inMs > 0) loop?.wakeIn(inMs);
    else loop?.wake();
  }

  /** Figures of tasks with rows that are due, as of queues. */
  async measureLate(): Promise<QueueDepth[]> {
    const tables = this.tablesWithTimes();
    if (tables.length === 0) return [];
    const late = await measureLateRows(
      this.sql,
      tables.map(({ rows }) => rows),
    );
    return late.map((figures, index) => ({ queue: tables[index]!.name, state: 'ready', ...figures }));
  }

  /** Rows that are due and still there, of all tasks or one. */
  async listLate({ queue, ...filter }: LateFilter & { queue?: string }): Promise<(LateRow & { queue: string })[]> {
    const tables = this.tablesWithTimes().filter(({ name }) => queue === undefined || name === queue);
    if (tables.length === 0) return [];
    const late = await listLateRows(
      this.sql,
      tables.map(({ rows }) => rows),
      filter,
    );
    return late.map((row) => ({ ...row, queue: tables[row.index]!.name }));
  }

  hasDueRows(name: string): boolean {
    return this.tablesWithTimes().some((table) => table.name === name);
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

  /** One after the other: together, each would open a connection. A round that takes long does not keep the others. */
  private async startLoops(): Promise<void> {
    for (const loop of this.loops.values()) {
      loop.start();
      await Promise.race([loop.firstRound, sleep(longestStartMs, undefined, { ref: false })]);
    }
  }

  private schedule(name: string, everyMs: number, run: (round: Round) => Promise<boolean | void>): void {
    if (this.loops.has(name)) throw new Error(`Two periodic tasks have the name ${name}.`);
    const { signal } = this.stopping;
    const round = async () => {
      if (signal.aborted) return false;
      const more = await run({ signal, againIn: (ms) => loop.wakeIn(ms) });
      return more === true && !signal.aborted;
    };
    const loop = new PollingWorker({ name, intervalMs: jittered(everyMs), logger: this.logger }, round);
    this.loops.set(name, loop);
  }

  private async findDue({ againIn }: Round): Promise<void> {
    const names = [...this.looks.keys()];
    const found = await findDueRows(this.sql, [...this.looks.values()]);
    againIn(Math.min(...found.map(({ nextInMs }) => nextInMs)));
    for (const name of names.filter((_, index) => found[index]!.isDue)) {
      this.due.add(name);
      this.loops.get(name)!.wake();
    }
  }

  /** True if more rows are due: the next round needs no look. */
  private async runIfDue(name: string, run: () => Promise<unknown>): Promise<boolean> {
    if (!this.due.delete(name)) return false;
    const hasMore = (await run()) === true;
    if (hasMore) this.due.add(name);
    return hasMore;
  }

  private tablesWithTimes(): { name: string; rows: DueRows }[] {
    return [...this.looks].flatMap(([name, rows]) => ('table' in rows ? [{ name, rows }] : []));
  }

  private requireRunner(name: string): WorkRunner {
    if (!this.runner) throw new Error(`The worker of ${name} needs the table "work": add WorkEntity to the schema.`);
    return this.runner;
  }
}
