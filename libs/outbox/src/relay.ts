import { Loop } from '@parley/background/loop';
import type { EventStream, StreamPlace } from '@parley/bus/event-stream';
import type { Logger } from '@parley/logging/logger';
import type { OutboxRepository } from './outbox.repository';

const batchSize = 200;
const watchMs = 5_000;

/** Publishes outbox rows and marks them. Any number of relays may run at once: each takes rows that no other holds. */
export class Relay {
  private readonly publishing: Loop;
  private readonly watching: Loop;

  constructor(
    private readonly outbox: OutboxRepository,
    private readonly events: EventStream,
    private readonly logger: Logger,
  ) {
    this.publishing = new Loop({ name: 'outbox.publish', intervalMs: 1_000, logger }, () => this.publish());
    this.watching = new Loop({ name: 'outbox.watch', intervalMs: watchMs, logger }, () => this.watch());
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

  /** One batch, once the stream is open. A crash between publishing and marking publishes it again, which consumers allow for. */
  async publish(): Promise<boolean> {
    if (!this.events.isOpen) return false;
    return this.outbox.transaction(async (tx) => {
      const events = await this.outbox.takeUnpublished(tx, batchSize);
      if (events.length === 0) return false;
      const before = await this.outbox.sharePlace(tx);
      const last = await this.events.publish(events);
      // Only now, so that a loss shows whether it came before these events or with them.
      if (!(await this.isKept(before))) {
        this.watching.wake();
        return false;
      }
      await this.outbox.markPublished(tx, events);
      if (last) await this.outbox.savePlace(tx, last);
      return events.length === batchSize;
    });
  }

  /** Publishes everything still kept again when the stream no longer has what was published last. */
  async watch(): Promise<boolean> {
    if (await this.isKept(await this.outbox.findPlace())) return false;
    const again = await this.outbox.transaction(async (tx) => {
      // Another relay may have seen to it meanwhile.
      if (await this.isKept(await this.outbox.lockPlace(tx))) return undefined;
      await this.outbox.forgetPlace(tx);
      return this.outbox.publishAgain(tx);
    });
    if (again === undefined) return false;
    this.logger.warn({ events: again }, 'the event stream lost what it held: publishing again what is still kept');
    this.publishing.wake();
    return false;
  }

  private async isKept(place: StreamPlace | undefined): Promise<boolean> {
    return !place || this.events.keeps(place);
  }
}
