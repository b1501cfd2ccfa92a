import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { WordsProgress } from '@parley/contracts/reindex';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { type Outcome, queue, type Work } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { TableCache } from '../tables/table.cache';
import { RowPointsService } from './row-points.service';
import { WordedTablesRepository } from './worded-tables.repository';

/** Key: the number of a table. Tenant: its bot. */
const rebuildWords = queue('tables.rebuildWords');
const rowsPerTurn = 256;
const tablesAtOnce = 500;

/** Rebuilds the words of rows that an older lexicon indexed, in the background. Vectors stay, so no model is asked. */
@Injectable()
export class RowWordsService implements OnApplicationBootstrap {
  constructor(
    private readonly words: WordedTablesRepository,
    private readonly tableCache: TableCache,
    private readonly points: RowPointsService,
    private readonly queue: WorkQueue,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { left } = await this.rebuild();
    if (left === 0) return;
    this.platform.logger.info(
      { tables: left },
      'rebuilding the words of rows that an older version indexed: npm run parley -- reindex --words shows the progress',
    );
  }

  /** Idempotent. */
  async rebuild(): Promise<WordsProgress> {
    const old = await this.words.listOld();
    const works = old.map(({ number, bot_id }) => ({ key: number, tenant: bot_id, payload: null }));
    for (let start = 0; start < works.length; start += tablesAtOnce) {
      await this.queue.addNow(rebuildWords, works.slice(start, start + tablesAtOnce));
    }
    return { left: old.length };
  }

  /** Idempotent: a turn that is repeated gives the same terms. Rows that change get theirs from the index of rows. */
  @Worker(rebuildWords, { concurrency: 1, attempts: Infinity })
  async rebuildOfTable({ key: number }: Work): Promise<Outcome> {
    const fromId = await this.words.findNextRow(number);
    const table = await this.tableCache.ofNumber(number);
    if (fromId === null || !table) return;
    const rows = await this.words.listRows(number, fromId, rowsPerTurn);
    await this.points.replaceTerms(table, rows);
    const last = rows.at(-1);
    await this.words.saveNextRow(number, last ? last.id + 1 : null);
    if (last) return 'more';
  }
}
