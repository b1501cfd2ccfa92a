import { PollingWorker } from '@parley/background/polling-worker';
import type { EventStream, StreamPosition } from '@parley/transport/event-stream';
import type { Logger } from '@parley/logging/logger';
import type { OutboxRepository } from './outbox.repository';

const batchSize = 200;
const watchMs = 5_000;
/** Finds rows that no commit has announced, such as those of a process that died. */
const idleMs = 5_000;

/** Outbox relay: publishes rows and marks them. Several relays may run at once; each locks different rows. */
export class Relay {
  private readonly publishing: PollingWorker;
  private readonly watching: PollingWorker;

  constructor(
    private readonly outbox: OutboxRepository,
    private readonly events: EventStream,
    private readonly logger: Logger,
  ) {
    this.publishing = new PollingWorker({ name: 'outbox.publish', intervalMs: idleMs, logger }, () => this.publish());
    this.watching = new PollingWorker({ name: 'outbox.watch', intervalMs: watchMs, logger }, () => this.watch());
  }

  start(): void {
    this.publishing.start();
    this.watching.start();
  }

  wake(): void {
    this.publishing.wake();
  }

  async stop(): Promise<void> {
    await Promise.all([this.publishing.stop(), this.watching.stop()]);
  }

  /** Publishes one batch once the stream is open. A crash before marking publishes it again: consumers are idempotent. */
  async publish(): Promise<boolean> {
    if (!this.events.isOpen) return false;
    return this.outbox.transaction(async (tx) => {
      const events = await this.outbox.lockUnpublished(tx, batchSize);
      if (events.length === 0) return false;
      const before = await this.outbox.lockStreamPositionShared(tx);
      const last = await this.events.publish(events);
      // Checked after publishing: a loss is detected whether it happened before these events or with them.
      if (!(await this.isKept(before))) {
        this.watching.wake();
        return false;
      }
      await this.outbox.markPublished(tx, events);
      if (last) await this.outbox.saveStreamPosition(tx, last);
      return events.length === batchSize;
    });
  }

  /** Loss detection: republishes all retained events when the stream no longer has the last published one. */
  async watch(): Promise<boolean> {
    if (await this.isKept(await this.outbox.findStreamPosition())) return false;
    const again = await this.outbox.transaction(async (tx) => {
      // Another relay may have republished meanwhile.
      if (await this.isKept(await this.outbox.lockStreamPosition(tx))) return undefined;
      await this.outbox.deleteStreamPosition(tx);
      return this.outbox.markAllUnpublished(tx);
    });
    if (again === undefined) return false;
    this.logger.warn({ events: again }, 'the event stream has lost events, publishing all retained ones again');
    this.publishing.wake();
    return false;
  }

  private async isKept(position: StreamPosition | undefined): Promise<boolean> {
    return !position || this.events.keeps(position);
  }
}
