import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Every } from '@parley/work-queue/worker';
import { CountersRepository } from './counters.repository';

const writeIntervalMs = 2_000;

/**
 * Write-behind counter: adds up views in memory and writes them every two seconds, so that reads cause no write. A
 * killed process loses the views of up to two seconds, a stopped one none.
 */
@Injectable()
export class ViewsService implements BeforeApplicationShutdown {
  private seen = new Map<string, number>();
  private written = Promise.resolve();

  constructor(private readonly counters: CountersRepository) {}

  count(id: string): void {
    this.seen.set(id, (this.seen.get(id) ?? 0) + 1);
  }

  /** One write at a time: the next one repeats a failed one. */
  @Every({ name: 'hub.writeViews', everyMs: writeIntervalMs })
  write(): Promise<void> {
    const write = () => this.writeSeen();
    this.written = this.written.then(write, write);
    return this.written;
  }

  /** Requests have ended by then. */
  beforeApplicationShutdown(): Promise<void> {
    return this.write();
  }

  /** Keeps the views for the next attempt when the write fails. */
  private async writeSeen(): Promise<void> {
    const views = this.seen;
    if (views.size === 0) return;
    this.seen = new Map();
    try {
      await this.counters.addViews(views);
    } catch (error) {
      for (const [id, count] of views) this.seen.set(id, (this.seen.get(id) ?? 0) + count);
      throw error;
    }
  }
}
