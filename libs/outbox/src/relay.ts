import { Loop } from '@parley/background/loop';
import { type EventStream, retentionHours, type StreamPosition } from '@parley/bus/event-stream';
import type { Logger } from '@parley/logging/logger';
import type { OutboxRepository } from './outbox.repository';

const batchSize = 200;
const watchMs = 5_000;
const cleanMs = 60_000;

/** Publishes outbox rows and marks them. Any number of relays may run at once: each takes rows that no other holds. */
export class Relay {
  private readonly publishing: Loop;
  private readonly watching: Loop;
  private readonly cleaning: Loop;

  constructor(
    private readonly outbox: OutboxRepository,
    private readonly events: EventStream,
    private readonly logger: Logger,
  ) {
    this.publishing = new Loop({ name: 'outbox.publish', intervalMs: 1_000, logger }, () => this.publish());
    this.watching = new Loop({ name: 'outbox.watch', intervalMs: watchMs, logger }, () => this.watch());
    this.cleaning = new Loop({ name: 'outbox.clean', intervalMs: cleanMs, logger }, () => this.clean());
  }

  start(): void {
    this.publishing.start();
    this.watching.start();
    this.cleaning.start();
  }

  wake(): void {
    this.publishing.wake();
  }

  async stop(): Promise<void> {
    await Promise.all([this.publishing.stop(), this.watching.stop(), this.cleaning.stop()]);
  }

  /** One batch. A crash between publishing and marking publishes it again, which consumers allow for. */
  async publish(): Promise<boolean> {
    return this.outbox.transaction(async (tx) => {
      const events = await this.outbox.takeUnpublished(tx, batchSize);
      if (events.length === 0) return false;
      await this.outbox.sharePosition(tx);
      await this.events.publish(events);
      await this.outbox.markPublished(tx, events);
      return events.length === batchSize;
    });
  }

  /** Publishes everything still kept again when the stream was made anew or lost its end. */
  async watch(): Promise<boolean> {
    const seen = await this.events.position();
    const again = await this.outbox.transaction(async (tx) => {
      const before = await this.outbox.lockPosition(tx);
      if (before && before.createdAt === seen.createdAt && before.lastSequence === seen.lastSequence) return 0;
      // Another relay may have looked later than we did: then what we have seen is out of date, and no sign of a loss.
      const now = before && wentBackwards(before, seen) ? await this.events.position() : seen;
      await this.outbox.savePosition(tx, now);
      return before && wentBackwards(before, now) ? this.outbox.publishAgain(tx) : 0;
    });
    if (again > 0) {
      this.logger.warn({ events: again }, 'the event stream lost what it held: publishing again what is still kept');
      this.publishing.wake();
    }
    return false;
  }

  private async clean(): Promise<boolean> {
    await this.outbox.deletePublished(retentionHours);
    // A row stays that long, and what is published last stays in the stream as long again.
    await this.outbox.deleteReceived(2 * retentionHours);
    return false;
  }
}

function wentBackwards(before: StreamPosition, now: StreamPosition): boolean {
  return before.createdAt !== now.createdAt || now.lastSequence < before.lastSequence;
}
