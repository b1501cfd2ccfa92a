import { Injectable } from '@nestjs/common';
import { notFound } from '@parley/contracts/errors';
import type { CountTableLeftovers, TableLeftovers } from '@parley/contracts/tables/tables';
import { type Outcome, RetryLater, type Work } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { isUUID } from 'class-validator';
import { RowPointsService } from '../search/row-points.service';
import { eraseRows } from '../tables/table-queues';
import { ErasureRepository } from './erasure.repository';

/** Rows per statement, so that no lock is held for long. */
const rowsAtOnce = 5_000;
const pauseMs = 1_000;

@Injectable()
export class ErasureService {
  constructor(
    private readonly erasure: ErasureRepository,
    private readonly points: RowPointsService,
  ) {}

  async countLeftovers({ botId }: CountTableLeftovers): Promise<TableLeftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    return this.erasure.countLeftovers(botId);
  }

  /** Deletes some rows, and the points when no rows are left. Repeated until it succeeds. */
  @Worker(eraseRows, { concurrency: 2, attempts: Infinity })
  async eraseTable({ key: number }: Work): Promise<Outcome> {
    // An incomplete batch is not the last one: another transaction may have deleted some of its rows.
    if ((await this.erasure.deleteRows(number, rowsAtOnce)) > 0 || (await this.erasure.hasRows(number))) return 'more';
    // The worker finds the table gone and ends.
    if (await this.erasure.isIndexed(number)) throw new RetryLater('A worker writes points of the table.', pauseMs);
    await this.points.drop(number);
    await this.erasure.deleteDroppedPoints(number);
  }
}
