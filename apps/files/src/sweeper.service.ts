import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Loop } from '@parley/background/loop';
import type { BlobStore } from '@parley/blobs/blob-store';
import { fileUploaded } from '@parley/contracts/files';
import { Database } from '@parley/database/database';
import { DeletedBotsRepository } from '@parley/file-store/deleted-bots.repository';
import { blobFolder, blobKey, type FileRef } from '@parley/file-store/file.entity';
import { FilesRepository } from '@parley/file-store/files.repository';
import { JobsRepository } from '@parley/file-store/jobs.repository';
import { PassagesRepository } from '@parley/file-store/passages.repository';
import { blobStore } from '@parley/file-store/tokens';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import { UploadsRepository } from '@parley/file-store/uploads.repository';
import type { Logger } from '@parley/logging/logger';
import { Outbox } from '@parley/outbox/outbox';
import type { PassageIndex } from '@parley/passages/passage-index';
import { passageIndex } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from './config';
import { EraseBotHandler } from './erase-bot.handler';

const batchSize = 100;
const clearBlobsMs = 600_000;

/**
 * Finds what has stopped moving and sets it going again, and removes what nobody refers to any more. Every step may
 * be repeated and may run in several processes at once.
 */
@Injectable()
export class SweeperService implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly loops: Loop[];
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
    private readonly eraser: EraseBotHandler,
    private readonly outbox: Outbox,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(passageIndex) private readonly index: PassageIndex,
    @Inject(platformToken) platform: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    const { logger } = platform;
    this.logger = logger;
    this.loops = [
      new Loop({ name: 'files.sweep', intervalMs, logger }, () => this.sweep()),
      new Loop({ name: 'files.tidy', intervalMs, logger }, () => this.tidy()),
      new Loop({ name: 'files.erase', intervalMs, logger }, () => this.erase()),
      new Loop({ name: 'files.clearBlobs', intervalMs: clearBlobsMs, logger }, () => this.clearBlobs()),
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

  /** Announces stalled work again, and gives up what can no longer succeed. */
  private async sweep(): Promise<boolean> {
    await this.database.transaction(async (tx) => {
      await this.outbox.addAll(tx, fileUploaded, await this.jobs.takeStalled(tx));
    });
    await this.files.failLapsedUploads();
    return this.database.transaction(async (tx) => {
      const abandoned = await this.uploads.deleteAbandoned(tx);
      const superseded = await this.jobs.deleteSuperseded(tx);
      const expired = await this.files.deleteExpired(tx, batchSize);
      await this.untidy.add(tx, [...abandoned, ...superseded, ...expired]);
      return expired.length === batchSize;
    });
  }

  /** Erases again what is left of deleted bots. */
  private async erase(): Promise<boolean> {
    for (const botId of await this.deletedBots.listUnerased()) {
      if (this.isStopping) break;
      await this.unlessItFails(botId, () => this.eraser.erase(botId));
    }
    return false;
  }

  /** Removes blobs, passages and points of files that no longer need them, and gives those that stay the file's tags. */
  private async tidy(): Promise<boolean> {
    const due = await this.untidy.take(batchSize);
    for (const [place, file] of due.entries()) {
      if (this.isStopping) {
        await this.untidy.giveBack(due.slice(place));
        break;
      }
      await this.unlessItFails(file.fileId, () => this.tidyFile(file));
    }
    return due.length === batchSize;
  }

  private async clearBlobs(): Promise<boolean> {
    await this.blobs.removeAbandoned();
    return false;
  }

  /** One that cannot be done now does not hold up the others, and comes again. */
  private async unlessItFails(id: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.logger.warn({ err: error, id }, 'something could not be removed yet'));
  }

  private async tidyFile(file: FileRef & { noted: string }): Promise<void> {
    await this.database.transaction(async (tx) => {
      // The lock keeps a new content from being accepted, and so from being indexed, while its points could be taken
      // for those of an older one.
      const row = await this.files.findForUpdate(tx, file.fileId);
      // A version that is being indexed has passages and points that are not active yet: the end of its job notes the
      // file again.
      const indexing = row?.status === 'indexing_pending' ? row.content_version : null;
      const kept = [row?.active_version, indexing].filter((version) => version != null);
      await this.passages.deleteExcept(tx, file.fileId, kept);
      // The blobs first: one that is placed after the look at the uploads could not be told from garbage.
      const stored = await this.blobs.list(blobFolder(file));
      const arriving = await this.uploads.versionsOf(tx, file.fileId);
      for (const version of stored) {
        if (![row?.content_version, ...arriving].includes(version)) await this.blobs.delete(blobKey(file, version));
      }
      // Last, since a local index lets nobody write points of this bot until the commit.
      if (!indexing) await this.index.removeFile(file.botId, file.fileId, row?.active_version ?? null, tx);
      // A worker writes the tags that it found when it began: what it writes after this is put right at its job's end.
      if (row && kept.length > 0) await this.index.retag(file.botId, file.fileId, row.tags, tx);
      await this.untidy.remove(tx, file);
    });
  }
}
