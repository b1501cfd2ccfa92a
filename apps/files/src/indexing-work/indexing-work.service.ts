import { Injectable } from '@nestjs/common';
import { ApiError, notFound } from '@parley/contracts/errors';
import type {
  FailedFiles,
  ListFailedFiles,
  ListStuckFiles,
  RefusedFile,
  RetriedFiles,
  RetryFiles,
  StuckFiles,
} from '@parley/contracts/indexing-work';
import { Database, type Transaction } from '@parley/persistence/database';
import { newUlid } from '@parley/persistence/ids';
import { type FileEntity, isExpired } from '../store/file.entity';
import { FilesRepository } from '../store/files.repository';
import { PassagesRepository } from '../store/passages.repository';
import { IndexingService } from './indexing.service';
import { IndexingWorkRepository } from './indexing-work.repository';

@Injectable()
export class IndexingWorkService {
  constructor(
    private readonly database: Database,
    private readonly work: IndexingWorkRepository,
    private readonly files: FilesRepository,
    private readonly passages: PassagesRepository,
    private readonly indexing: IndexingService,
  ) {}

  async listStuck(query: ListStuckFiles): Promise<StuckFiles> {
    const { files, nextToken } = await this.work.listStuckFiles(query);
    return { files, meta: { nextToken } };
  }

  async listFailed(query: ListFailedFiles): Promise<FailedFiles> {
    const { files, nextToken } = await this.work.listFailedFiles(query);
    return { files, meta: { nextToken } };
  }

  /** One transaction per file. The active version stays searchable until the retry has ended. */
  async retry({ fileIds }: RetryFiles): Promise<RetriedFiles> {
    const retried: string[] = [];
    const refused: RefusedFile[] = [];
    for (const fileId of fileIds) {
      const reason = await this.database.transaction(async (tx) =>
        this.retryFile(tx, await this.files.findFileForUpdate(tx, fileId)),
      );
      if (reason) refused.push({ fileId, reason });
      else retried.push(fileId);
    }
    return { retried, refused };
  }

  /** Idempotent. Throws ResourceNotFound for a file that is gone, RelationConflict for one that cannot be indexed. */
  async indexAgain(fileId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const file = await this.files.findFileForUpdate(tx, fileId);
      if (!file) throw notFound('file', fileId);
      if (file.status === 'indexing_pending') return;
      const reason = await this.retryFile(tx, file);
      if (reason !== undefined) throw new ApiError('RelationConflict', reason);
    });
  }

  /** Reads the content of a file anew, unless it was replaced, deleted or read meanwhile. */
  async readAnew(fileId: string, isOlder: (file: FileEntity) => boolean): Promise<void> {
    await this.database.transaction(async (tx) => {
      const file = await this.files.findFileForUpdate(tx, fileId);
      if (file && !file.are_passages_set && isOlder(file)) await this.retryFile(tx, file);
    });
  }

  /** Returns the reason for which the file is not indexed again. */
  private async retryFile(tx: Transaction, file: FileEntity | undefined): Promise<string | undefined> {
    if (!file || isExpired(file)) return 'File not found.';
    if (!file.index) return 'The file is not indexed: it was declared without index: true.';
    if (file.blob_version === null) return 'The file has no content yet.';
    if (file.status === 'indexing_pending') return 'The file is being indexed already.';

    const version = { botId: file.bot_id, fileId: file.id, contentVersion: newUlid() };
    if (file.are_passages_set) {
      const passages = await this.passages.listAllOfVersion(tx, {
        ...version,
        contentVersion: file.content_version ?? '',
      });
      if (passages.length === 0) return 'The passages that were set are gone: set them again.';
      await this.passages.upsertPassages(version, passages, tx);
    }
    await this.indexing.beginAnew(tx, version, file.are_passages_set ? 'passages' : 'content');
    return undefined;
  }
}
