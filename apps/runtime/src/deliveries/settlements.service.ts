import { Injectable } from '@nestjs/common';
import { DeliveriesRepository, type Settlement } from './deliveries.repository';

/** An event body has at most 256 kB, and a reason 1.5 kB. */
const maxTogether = 100;

interface Waiting {
  settlement: Settlement;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Outcomes of deliveries. Group commit: while one statement runs, the next outcomes are collected, and announced in
 * one event.
 */
@Injectable()
export class SettlementsService {
  private waiting: Waiting[] = [];
  private isWriting = false;

  constructor(private readonly deliveries: DeliveriesRepository) {}

  /** Records and announces the outcome. Resolves after the commit. */
  settle(settlement: Settlement): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ settlement, resolve, reject });
      if (!this.isWriting) void this.writeAll();
    });
  }

  private async writeAll(): Promise<void> {
    this.isWriting = true;
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, maxTogether);
      await this.write(batch.map(({ settlement }) => settlement)).then(
        () => batch.forEach(({ resolve }) => resolve()),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      );
    }
    this.isWriting = false;
  }

  private async write(batch: Settlement[]): Promise<void> {
    // One statement cannot change a row twice.
    const settlements = [...new Map(batch.map((each) => [`${each.bot_id}/${each.event_id}`, each])).values()];
    await this.deliveries.insertSettlements(settlements);
  }
}
