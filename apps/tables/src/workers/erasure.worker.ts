import { Inject, Injectable } from '@nestjs/common';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { TablesConfig } from '../config';
import { ErasureRepository } from '../erasure/erasure.repository';
import { RowPointsService } from '../search/row-points.service';

const numbersAtOnce = 20;
const rowsAtOnce = 5_000;

/** Sweeper for dropped rows. Each step is idempotent and safe to run in several processes at once. */
@Injectable()
export class ErasureWorker extends BackgroundWorker {
  private readonly leaseMs: number;

  constructor(
    private readonly erasure: ErasureRepository,
    private readonly points: RowPointsService,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs, workLeaseMs }: TablesConfig,
  ) {
    super({ name: 'tables.erase', intervalMs, logger });
    this.leaseMs = workLeaseMs;
  }

  protected async round(): Promise<boolean> {
    const numbers = await this.erasure.takeDroppedNumbers(numbersAtOnce);
    for (const number of numbers) await this.erase(number);
    return numbers.length === numbersAtOnce;
  }

  /** Small batches, so that no lock is held for long. After a shutdown, the rest is due again a minute later. */
  private async erase(number: string): Promise<void> {
    while (!this.isStopping) {
      // An incomplete batch is not the last one: another process may have deleted some of its rows.
      if ((await this.erasure.deleteDroppedRows(number, rowsAtOnce)) > 0) continue;
      // A worker may still write points of the table. It finds the table gone and ends; the number is due again.
      if (await this.erasure.isWorkedOn(number, this.leaseMs)) return;
      await this.points.drop(number);
      if (await this.erasure.deleteEmptied(number)) return;
    }
  }
}
