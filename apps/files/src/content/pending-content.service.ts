import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { newUlid } from '@parley/persistence/ids';
import type { FileEntity, FileRef } from '../store/file.entity';
import { FilesRepository } from '../store/files.repository';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { cleanupQueue, cleanupsOf } from '../store/cleanup-queue';
import { UploadsRepository } from '../store/uploads.repository';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { IndexingService } from '../indexing-work/indexing.service';

const heartbeatMs = 60_000;

/** Contents that arrive by an upload or a copy: kept alive by heartbeats until they are accepted or discarded. */
@Injectable()
export class PendingContentService implements BeforeApplicationShutdown {
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly uploads: UploadsRepository,
    private readonly work: WorkQueue,
    private readonly indexing: IndexingService,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /**
   * Registers a new content version and sends its heartbeats while `write` runs. `write` has to accept or discard it.
   *
   * @param uploadId null for a copy, which has no declaration yet
   */
  async receive<T>(
    ref: FileRef,
    uploadId: string | null,
    write: (contentVersion: string, lost: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const work = this.withHeartbeat(ref, uploadId, write).finally(() => this.underWay.delete(work));
    this.underWay.add(work);
    return work;
  }

  /** Aborted uploads still have to remove their partial blobs. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  /** Makes this the newest content of its file and starts its indexing. False when the sweeper removed it as abandoned. */
  async accept(tx: Transaction, file: FileEntity, contentVersion: string): Promise<boolean> {
    if (!(await this.uploads.deleteUpload(tx, contentVersion))) return false;
    const ref = { botId: file.bot_id, fileId: file.id };
    await this.files.acceptContent(tx, file.id, contentVersion);
    if (file.content_version) await this.work.add(tx, cleanupQueue, cleanupsOf(ref));
    if (file.index) await this.indexing.begin(tx, { ...ref, contentVersion }, 'content');
    return true;
  }

  /** Accepts the content of a new copy and returns its row; undefined when the sweeper removed the content. */
  async acceptCopy(tx: Transaction, file: FileEntity, contentVersion: string): Promise<FileEntity | undefined> {
    if (!(await this.accept(tx, file, contentVersion))) return undefined;
    await this.work.add(tx, cleanupQueue, cleanupsOf({ botId: file.bot_id, fileId: file.id }));
    return (await this.files.findFileForUpdate(tx, file.id))!;
  }

  discard(ref: FileRef, contentVersion: string): Promise<void> {
    return this.database.transaction(async (tx) => {
      await this.uploads.deleteUpload(tx, contentVersion);
      await this.work.add(tx, cleanupQueue, cleanupsOf(ref));
    });
  }

  private async withHeartbeat<T>(
    ref: FileRef,
    uploadId: string | null,
    write: (contentVersion: string, lost: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const contentVersion = newUlid();
    await this.uploads.insertUpload(ref, contentVersion);
    const lost = new AbortController();
    const heartbeat = setInterval(() => this.renew(uploadId, contentVersion, lost), heartbeatMs);
    try {
      return await write(contentVersion, lost.signal);
    } finally {
      clearInterval(heartbeat);
    }
  }

  private renew(uploadId: string | null, contentVersion: string, lost: AbortController): void {
    this.uploads.renewUpload(contentVersion, uploadId).then(
      (isAlive) => {
        if (!isAlive) lost.abort(declaredAgain());
      },
      (error: unknown) =>
        this.platform.logger.warn({ err: error, contentVersion }, 'the heartbeat of an upload failed'),
    );
  }
}

export function declaredAgain(): ApiError {
  return new ApiError(
    'Forbidden',
    'The file was deleted or declared again since this URL was made: get the file again for a new URL.',
  );
}
