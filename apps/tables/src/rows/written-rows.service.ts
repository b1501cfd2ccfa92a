import { Inject, Injectable } from '@nestjs/common';
import { atMostEntries } from '@parley/background/entry-limit';
import type { BotCaller } from '@parley/contracts/access';
import type { CreateTableRows, Row } from '@parley/contracts/tables/rows';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { LRUCache } from 'lru-cache';
import { BotsRepository } from '../bots/bots.repository';
import { RowComputerService } from '../computed-columns/row-computer.service';
import { columnsToCompute, isSearchable } from '../schema/dirty-flags';
import { TableCache } from '../tables/table.cache';
import { computeRows, indexRows } from '../tables/table-queues';

/** Bots whose workspace this process has stored. */
const maxBots = 10_000;

@Injectable()
export class WrittenRowsService {
  private readonly atHome = new LRUCache<string, true>(atMostEntries(maxBots));

  constructor(
    private readonly bots: BotsRepository,
    private readonly tableCache: TableCache,
    private readonly computer: RowComputerService,
    private readonly queue: WorkQueue,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /**
   * Returns the rows, with computed columns if a request for a single row waits for them. All others are computed
   * later. Never throws: the rows are committed, and failed work is retried later.
   */
  async settle(bot: BotCaller['bot'], input: CreateTableRows, written: Row[]): Promise<Row[]> {
    try {
      return await this.computed(bot, input, written);
    } catch (error) {
      this.platform.logger.warn(
        { err: error, botId: bot.id, table: input.table },
        'computing rows failed, they are computed later',
      );
      return written;
    }
  }

  private async computed(
    bot: BotCaller['bot'],
    { table: name, rows, waitComputed }: CreateTableRows,
    written: Row[],
  ): Promise<Row[]> {
    if (written.length === 0) return written;
    const table = await this.tableCache.cachedTable(bot.id, name);
    if ([...table.columns.values()].some(isSearchable)) this.queue.wake(indexRows.name);
    if (columnsToCompute(table).length === 0) return written;
    await this.noteHome(bot);
    const isWaiting = waitComputed === true && rows.length === 1;
    const settled = isWaiting ? await Promise.all(written.map((row) => this.computer.computeRow(table, row))) : written;
    this.queue.wake(computeRows.name);
    return settled;
  }

  /** Before columns are computed: the workspace of the bot pays for language models. */
  private async noteHome(bot: BotCaller['bot']): Promise<void> {
    if (this.atHome.has(bot.id)) return;
    await this.bots.noteHome(bot);
    this.atHome.set(bot.id, true);
  }
}
