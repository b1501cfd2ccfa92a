import { Injectable } from '@nestjs/common';
import type { Sql, Transaction } from '@parley/persistence/database';
import type { NewWork, Queue } from './queue';
import { WorkRepository } from './work.repository';

type OnAdded = (queue: string, dueAt?: Date) => void;

/** Adds background work to the queues of a service. */
@Injectable()
export class WorkQueue {
  private announce: OnAdded = () => undefined;

  constructor(private readonly work: WorkRepository) {}

  /** Sets the callback that wakes workers after each commit. */
  onAdded(announce: OnAdded): void {
    this.announce = announce;
  }

  /** Adds work in the transaction of its cause. Workers wake after the commit. */
  async add<Payload>(tx: Transaction, queue: Queue<Payload>, works: NewWork<Payload>[]): Promise<void> {
    if (works.length === 0) return;
    await this.work.insertWork(queue, works, tx);
    tx.afterCommit(() => this.announceAll(queue, works));
  }

  /** Adds work without a transaction. */
  async addNow<Payload>(queue: Queue<Payload>, works: NewWork<Payload>[]): Promise<void> {
    if (works.length === 0) return;
    await this.work.insertWork(queue, works);
    this.announceAll(queue, works);
  }

  /** Wakes the work that is parked for this: with a limit, the oldest. */
  async unpark(queue: Queue, waitsFor: string, limit?: number): Promise<void> {
    if ((await this.work.unparkWork(queue.name, waitsFor, limit)) > 0) this.announce(queue.name);
  }

  /** Deletes work that does not run, because it was settled elsewhere. Then work behind it runs. */
  async discard(queue: Queue, key: string): Promise<void> {
    if (await this.work.discardWork(queue.name, key)) this.announce(queue.name);
  }

  /** Whether one of the keys waits or runs. */
  has(queue: Queue, keys: string[]): Promise<boolean> {
    return this.work.hasWork(queue.name, keys);
  }

  /** Deletes the work of a deleted tenant, except what runs: its handler finds the tenant gone. */
  deleteOfTenant(sql: Sql, tenant: string): Promise<void> {
    return this.work.deleteOfTenant(sql, tenant);
  }

  /** Wakes the workers of a queue in all processes. */
  wake(queue: string): void {
    this.announce(queue);
  }

  private announceAll({ name }: Queue, works: NewWork<unknown>[]): void {
    const dueTimes = works.flatMap(({ dueAt }) => (dueAt ? [dueAt.getTime()] : []));
    if (dueTimes.length < works.length) this.announce(name);
    if (dueTimes.length > 0) this.announce(name, new Date(Math.min(...dueTimes)));
  }
}
