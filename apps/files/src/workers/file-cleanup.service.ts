import { Inject, Injectable } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import { cleanupQueue, retagQueue } from '../store/cleanup-queue';
import { blobFolder, blobKey, type FileRef } from '../store/file.entity';
import { FilesRepository } from '../store/files.repository';
import { PassagesRepository } from '../store/passages.repository';
import { blobStore } from '../store/tokens';
import { UploadsRepository } from '../store/uploads.repository';
import type { PassageIndex } from '@parley/passages/passage-index';
import { passageIndex } from '@parley/passages/tokens';
import { mayRemoveContent } from '@parley/persistence/content-hold';
import { Database } from '@parley/persistence/database';
import { RetryLater, type Work } from '@parley/work-queue/queue';
import { Every, Worker } from '@parley/work-queue/worker';
import { FilesConfig } from '../config';

const clearBlobsMs = 600_000;
/** Sweep intervals between two attempts while a backup copies contents, because each file makes them. */
const intervalsPerHold = 10;

@Injectable()
export class FileCleanupService {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly passages: PassagesRepository,
    private readonly uploads: UploadsRepository,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(passageIndex) private readonly index: PassageIndex,
    private readonly config: FilesConfig,
  ) {}

  /**
   * Removes blobs, passages and points that the file no longer needs, and updates the tags of the other points.
   * Idempotent, and repeated until it succeeds.
   */
  @Worker(cleanupQueue, { concurrency: 1, attempts: Infinity })
  async cleanUp({ payload: file }: Work<FileRef>): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (!(await mayRemoveContent(tx)))
        throw new RetryLater('A backup copies contents.', intervalsPerHold * this.config.sweepIntervalMs);
      // Row lock: keeps new content from being accepted, and so from being indexed, while its points could be mistaken
      // for those of an older version.
      const row = await this.files.findFileForUpdate(tx, file.fileId);
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
    });
  }

  /** Gives the points of the file its tags. Idempotent: the row lock orders it with cleanups, which may do the same. */
  @Worker(retagQueue, { concurrency: 1, attempts: Infinity })
  async retag({ payload: { botId, fileId } }: Work<FileRef>): Promise<void> {
    await this.database.transaction(async (tx) => {
      const row = await this.files.findFileForUpdate(tx, fileId);
      if (row) await this.index.retag(botId, fileId, row.tags, tx);
    });
  }

  /** Removes partial blobs that crashed uploads left in the blob store. */
  @Every({ name: 'files.clearBlobs', everyMs: clearBlobsMs })
  clearAbandonedBlobs(): Promise<void> {
    return this.blobs.removeAbandoned();
  }
}
