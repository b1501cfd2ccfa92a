import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { BlobStore } from '@parley/blobs/blob-store';
import { usageChanged } from '@parley/contracts/admin/usage';
import { fileUploaded } from '@parley/contracts/files';
import { mayRemoveContent } from '@parley/persistence/content-hold';
import { Database } from '@parley/persistence/database';
import { DeletedBotsRepository } from '@parley/file-store/deleted-bots.repository';
import { blobFolder, blobKey, type FileRef } from '@parley/file-store/file.entity';
import { FilesRepository } from '@parley/file-store/files.repository';
import { JobsRepository } from '@parley/file-store/jobs.repository';
import { PassagesRepository } from '@parley/file-store/passages.repository';
import { StorageUseRepository } from '@parley/file-store/storage-use.repository';
import { blobStore } from '@parley/file-store/tokens';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import { UploadsRepository } from '@parley/file-store/uploads.repository';
import type { Logger } from '@parley/logging/logger';
import { Outbox } from '@parley/events/outbox';
import type { PassageIndex } from '@parley/passages/passage-index';
import { passageIndex } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';
import { ErasureService } from '../erasure/erasure.service';

const batchSize = 100;
const clearBlobsMs = 600_000;

/**
 * Sweeper: announces stalled jobs again, and removes data that nothing refers to any more. Every step is idempotent and
 * may run in several processes at once.
 */
@Injectable()
export class SweeperService implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly loops: PollingWorker[];
  private readonly logger: Logger;
  private isStopping = false;

  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly jobs: JobsRepository,
    private readonly passages: PassagesRepository,
    private readonly uploads: UploadsRepository,
    private readonly untidy: UntidyFilesRepository,
    private readonly deletedBots: DeletedBotsRepository,
    private readonly use: StorageUseRepository,
    private readonly erasure: ErasureService,
    private readonly outbox: Outbox,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(passageIndex) private readonly index: PassageIndex,
    @Inject(platformToken) platform: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    const { logger } = platform;
    this.logger = logger;
    this.loops = [
      new PollingWorker({ name: 'files.sweep', intervalMs, logger }, () => this.sweep()),
      new PollingWorker({ name: 'files.tidy', intervalMs, logger }, () => this.tidy()),
      new PollingWorker({ name: 'files.erase', intervalMs, logger }, () => this.erase()),
      new PollingWorker({ name: 'files.tellUse', intervalMs, logger }, () => this.tellUse()),
      new PollingWorker({ name: 'files.clearBlobs', intervalMs: clearBlobsMs, logger }, () => this.clearBlobs()),
    ];
  }

  onApplicationBootstrap(): void {
    this.loops.forEach((loop) => loop.start());
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  private async sweep(): Promise<boolean> {
    await this.database.transaction(async (tx) => {
      await this.outbox.addAll(tx, fileUploaded, await this.jobs.takeStalled(tx));
    });
    await this.jobs.deleteOldTurns();
    await this.database.transaction(async (tx) => {
      const abandoned = await this.uploads.deleteAbandonedUploads(tx);
      const superseded = await this.jobs.deleteSuperseded(tx);
      await this.untidy.enqueueFiles(tx, [...abandoned, ...superseded]);
    });
    const bots = await this.files.listBotsWithOverdue(batchSize);
    let isMore = bots.length === batchSize;
    for (const botId of bots) {
      if (this.isStopping) break;
      await this.unlessItFails(botId, async () => {
        isMore = (await this.sweepOverdue(botId)) || isMore;
      });
    }
    return isMore;
  }

  /** Returns whether the bot may have more expired uploads or files. */
  private async sweepOverdue(botId: string): Promise<boolean> {
    const lapsed = await this.files.failLapsedUploads(botId, batchSize);
    const expired = await this.database.transaction(async (tx) => {
      const files = await this.files.deleteExpired(tx, botId, batchSize);
      await this.untidy.enqueueFiles(tx, files);
      return files.length;
    });
    return Math.max(lapsed, expired) === batchSize;
  }

  private async erase(): Promise<boolean> {
    for (const botId of await this.deletedBots.listUnerased()) {
      if (this.isStopping) break;
      await this.unlessItFails(botId, () => this.erasure.erase(botId));
    }
    return false;
  }

  /**
   * Cleanup queue: removes blobs, passages and points that their files no longer need, and updates the tags of the
   * other points. Skipped while a backup copies contents.
   */
  private async tidy(): Promise<boolean> {
    if (!(await mayRemoveContent(this.database))) return false;
    const due = await this.untidy.takeDueFiles(batchSize);
    for (const [place, file] of due.entries()) {
      if (this.isStopping) {
        await this.untidy.requeueFiles(due.slice(place));
        break;
      }
      await this.unlessItFails(file.fileId, () => this.tidyFile(file));
    }
    return due.length === batchSize;
  }

  /** Reports changed storage usage to admin, which ignores deleted bots. */
  private async tellUse(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const changed = await this.use.takeChangedUse(tx, batchSize);
      const news = changed.flatMap(({ botId, workspaceId, at, fileBytes, vectorBytes }) => {
        const about = { botId, workspaceId, at: at.toISOString() };
        return [
          { ...about, type: 'storage_count' as const, value: fileBytes },
          { ...about, type: 'knowledgebase_vector_storage' as const, value: vectorBytes },
        ];
      });
      await this.outbox.addAll(tx, usageChanged, news);
      return changed.length === batchSize;
    });
  }

  private async clearBlobs(): Promise<boolean> {
    await this.blobs.removeAbandoned();
    return false;
  }

  /** A failure does not hold up the other items; the failed one is due again later. */
  private async unlessItFails(id: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.logger.warn({ err: error, id }, 'cleanup failed, it will be retried'));
  }

  private async tidyFile(file: FileRef & { noted: string }): Promise<void> {
    await this.database.transaction(async (tx) => {
      // Row lock: keeps new content from being accepted, and so from being indexed, while its points could be mistaken
      // for those of an older version.
      const row = await this.files.findFileForUpdate(tx, file.fileId);
      if (!(await mayRemoveContent(tx))) return;
      // A version that is being indexed has passages and points that are not active yet; the end of its job queues the
      // file again.
      const indexing = row?.status === 'indexing_pending' ? row.content_version : null;
      // Passages that were set are the only source from which their file can be indexed again.
      const source = row?.are_passages_set ? row.content_version : null;
      const kept = [row?.active_version, indexing, source].filter((version) => version != null);
      await this.passages.deleteOtherVersions(tx, file.fileId, kept);
      // Lists the blobs before the uploads: a blob that is placed after the query of the uploads would look like
      // garbage.
      const stored = await this.blobs.list(blobFolder(file));
      const arriving = await this.uploads.listVersionsOfFile(tx, file.fileId);
      for (const version of stored) {
        if (![row?.blob_version, ...arriving].includes(version)) await this.blobs.delete(blobKey(file, version));
      }
      // Last, since a local index blocks writes of points of this bot until the commit.
      if (!indexing) await this.index.removeFile(file.botId, file.fileId, row?.active_version ?? null, tx);
      // A worker writes the tags that it read at its start; the cleanup at the end of its job corrects them.
      if (row && (row.active_version ?? indexing)) await this.index.retag(file.botId, file.fileId, row.tags, tx);
      await this.untidy.dequeueFile(tx, file);
    });
  }
}
