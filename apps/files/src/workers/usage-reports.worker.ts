import { Inject, Injectable } from '@nestjs/common';
import { usageChanged } from '@parley/contracts/admin/usage';
import { Outbox } from '@parley/events/outbox';
import { StorageUseRepository } from '@parley/file-store/storage-use.repository';
import { Database } from '@parley/persistence/database';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';

const batchSize = 100;

/** Reports changed storage usage to admin, which ignores deleted bots. */
@Injectable()
export class UsageReportsWorker extends BackgroundWorker {
  constructor(
    private readonly database: Database,
    private readonly use: StorageUseRepository,
    private readonly outbox: Outbox,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    super({ name: 'files.tellUse', intervalMs, logger });
  }

  protected async round(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const changed = await this.use.takeChangedUse(tx, batchSize);
      const reports = changed.flatMap(({ botId, workspaceId, at, fileBytes, vectorBytes }) => {
        const subject = { botId, workspaceId, at: at.toISOString() };
        return [
          { ...subject, type: 'storage_count' as const, value: fileBytes },
          { ...subject, type: 'knowledgebase_vector_storage' as const, value: vectorBytes },
        ];
      });
      await this.outbox.addAll(tx, usageChanged, reports);
      return changed.length === batchSize;
    });
  }
}
