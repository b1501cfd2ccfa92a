import { PollingWorker } from '@parley/background/polling-worker';
import type { EventStream, StreamPosition } from '@parley/transport/event-stream';
import type { Logger } from '@parley/logging/logger';
import type { OutboxRepository } from './outbox.repository';

const batchSize = 200;
/** Finds rows that no commit has announced, such as those of a process that died, and a stream that has lost events. */
const defaultIntervalMs = 5_000;

/** Rolls back the marks of a batch that was published to a stream that has lost events. */
class StreamLost extends Error {}

/** Outbox relay: publishes rows and marks them. Several relays may run at once; each locks different rows. */
export class Relay {
  private readonly polling: PollingWorker;
  /** Rows wait: the next round does not look for them first. */
  private hasRows = false;

  constructor(
    private readonly outbox: OutboxRepository,
    private readonly events: EventStream,
    private readonly logger: Logger,
    intervalMs = defaultIntervalMs,
  ) {
    this.polling = new PollingWorker({ name: 'outbox.publish', intervalMs, logger }, () => this.round());
  }

  start(): void {
    this.polling.start();
  }

  wake(): void {
    this.hasRows = true;
    this.polling.wake();
  }

  stop(): Promise<void> {
    return this.polling.stop();
  }

  /** Publishes one batch once the stream is open. True if there may be more. */
  async publish(): Promise<boolean> {
    return (await this.publishBatch()) === 'more';
  }

  /**
   * Looks for rows in one statement. Loss detection: republishes all retained events when the stream no longer has the
   * last published one. True when rows wait.
   */
  async watch(): Promise<boolean> {
    const { position, hasRows } = await this.outbox.findWaiting();
    if (await this.isKept(position)) return hasRows;
    const again = await this.outbox.transaction(async (tx) => {
      // Another relay may have republished meanwhile.
      if (await this.isKept(await this.outbox.lockStreamPosition(tx))) return undefined;
      await this.outbox.deleteStreamPosition(tx);
      return this.outbox.markAllUnpublished(tx);
    });
    if (again !== undefined)
      this.logger.warn({ events: again }, 'the event stream has lost events, publishing all retained ones again');
    return true;
  }

  private async round(): Promise<boolean> {
    if (!this.events.isOpen) this.polling.wakeIn(defaultIntervalMs);
    if (!this.hasRows && !(await this.watch())) return false;
    this.hasRows = false;
    const end = await this.publishBatch();
    if (end === 'lost') await this.watch();
    this.hasRows ||= end !== 'done';
    return end !== 'done';
  }

  /** A crash before the commit publishes the batch again: consumers are idempotent. */
  private async publishBatch(): Promise<'more' | 'done' | 'lost'> {
    if (!this.events.isOpen) return 'done';
    if (this.events.moveFrom && !this.events.canLose) {
      const { found, hasReplays } = await this.events.moveFrom(this.outbox.schema, batchSize);
      if (!hasReplays) return found === batchSize ? 'more' : 'done';
    }
    try {
      return await this.outbox.transaction(async (tx) => {
        const events = await this.outbox.markUnpublished(tx, batchSize);
        if (events.length === 0) return 'done';
        const before = this.events.canLose ? await this.outbox.lockStreamPositionShared(tx) : undefined;
        const last = await this.events.publish(events);
        // Checked after publishing: a loss is detected whether it happened before these events or with them.
        if (!(await this.isKept(before))) throw new StreamLost();
        if (last) await this.outbox.saveStreamPosition(tx, last);
        return events.length === batchSize ? 'more' : 'done';
      });
    } catch (error) {
      if (error instanceof StreamLost) return 'lost';
      throw error;
    }
  }

  private async isKept(position: StreamPosition | undefined): Promise<boolean> {
    return !position || this.events.keeps(position);
  }
}
