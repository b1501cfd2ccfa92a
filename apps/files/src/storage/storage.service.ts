import { Injectable } from '@nestjs/common';
import { usageChanged } from '@parley/contracts/admin/usage';
import type { CorrectedStorage, ReconciledStorage, ReconcileStorage } from '@parley/contracts/storage-counts';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { hasChangedUse, StorageUseRepository } from '../store/storage-use.repository';
import { WhenDue } from '@parley/work-queue/worker';
import { FilesConfig } from '../config';

const maxBots = 50;
const reportsAtOnce = 100;
/** Time budget of a call, however few bots it has checked: one bot may have millions of files. */
const longEnoughMs = 10_000;

@Injectable()
export class StorageService {
  constructor(
    private readonly database: Database,
    private readonly use: StorageUseRepository,
    private readonly outbox: Outbox,
    private readonly config: FilesConfig,
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

  /** Reports changed storage usage to admin, which ignores deleted bots. */
  @WhenDue<StorageService>({
    name: 'files.tellUse',
    rows: hasChangedUse,
    everyMs: ({ config }) => config.sweepIntervalMs,
  })
  reportUse(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const changed = await this.use.takeChangedUse(tx, reportsAtOnce);
      const reports = changed.flatMap(({ botId, workspaceId, at, fileBytes, vectorBytes }) => {
        const subject = { botId, workspaceId, at: at.toISOString() };
        return [
          { ...subject, type: 'storage_count' as const, value: fileBytes },
          { ...subject, type: 'knowledgebase_vector_storage' as const, value: vectorBytes },
        ];
      });
      await this.outbox.addAll(tx, usageChanged, reports);
      return changed.length === reportsAtOnce;
    });
  }
}
