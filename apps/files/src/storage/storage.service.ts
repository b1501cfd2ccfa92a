import { Injectable } from '@nestjs/common';
import type { CorrectedStorage, ReconciledStorage, ReconcileStorage } from '@parley/contracts/storage-counts';
import { Database } from '@parley/persistence/database';
import { StorageUseRepository } from '@parley/file-store/storage-use.repository';

const maxBots = 50;
/** Time budget of a call, however few bots it has checked: one bot may have millions of files. */
const longEnoughMs = 10_000;

@Injectable()
export class StorageService {
  constructor(
    private readonly database: Database,
    private readonly use: StorageUseRepository,
  ) {}

  /** One transaction per bot, during which its files do not change. */
  async reconcile({ after = '' }: ReconcileStorage): Promise<ReconciledStorage> {
    const until = Date.now() + longEnoughMs;
    const bots = await this.use.listBotsWithFiles(after, maxBots);
    const corrected: CorrectedStorage[] = [];
    let checked = 0;
    for (const botId of bots) {
      if (Date.now() > until) break;
      const counts = await this.database.transaction((tx) => this.use.recountUseOfBot(tx, botId));
      if (counts.wasWrong) corrected.push({ botId, before: counts.before, after: counts.after });
      checked += 1;
    }
    const isEnd = checked === bots.length && bots.length < maxBots;
    return { checked, corrected, next: isEnd ? undefined : bots[checked - 1] };
  }
}
