import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { rotatePartitions } from '@parley/persistence/time-partitions';
import { Every } from '@parley/work-queue/worker';

const intervalMs = 10 * 60_000;
/** Margin: no writer finds its hour without a partition, even if none could be created for an hour. */
const hoursAhead = 2;
const hoursKept = 2;

@Injectable()
export class SignalPartitionsRepository {
  constructor(private readonly database: Database) {}

  /** Retention of signals: drops whole partitions, each of one hour. */
  @Every({ name: 'chat.signalPartitions', everyMs: intervalMs })
  async rotate(): Promise<void> {
    await this.rotatePartitions(hoursAhead, hoursKept);
  }

  async rotatePartitions(ahead: number, kept: number): Promise<void> {
    await rotatePartitions(this.database, { table: 'signal', unit: 'hour', ahead, kept });
  }
}
