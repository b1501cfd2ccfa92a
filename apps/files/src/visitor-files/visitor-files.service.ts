import { Injectable } from '@nestjs/common';
import type { SubjectErased } from '@parley/contracts/chat/erased-subjects';
import { ApiError } from '@parley/contracts/errors';
import { type DeclareVisitorFile, maxVisitorFilesPerHour, type VisitorFile } from '@parley/contracts/visitor-files';
import { cleanupQueue, cleanupsOf } from '../store/cleanup-queue';
import { StorageUseRepository } from '../store/storage-use.repository';
import { Database, type Sql } from '@parley/persistence/database';
import { newId, newUnguessableId } from '@parley/persistence/ids';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { ContentUrlsService } from '../content/content-urls.service';
import { contentTypeOf } from '../files/content-type';
import { DeclarationsService } from '../files/declarations.service';
import { VisitorFilesRepository } from './visitor-files.repository';

/** Namespace of keys. */
const prefix = 'chat/';
/** Part of the storage quota beyond which users cannot send files: the rest is kept for the bot itself. */
const quotaPart = 0.5;
const batchSize = 500;

/** Files that end users send to a bot. */
@Injectable()
export class VisitorFilesService {
  constructor(
    private readonly database: Database,
    private readonly files: VisitorFilesRepository,
    private readonly declarations: DeclarationsService,
    private readonly use: StorageUseRepository,
    private readonly urls: ContentUrlsService,
    private readonly work: WorkQueue,
  ) {}

  /**
   * The content is public, because it is shown in the conversation for as long as that exists: the random id is what
   * keeps it from others. Throws RateLimited for a user with too many files, QuotaExceeded when the storage of the
   * workspace is half full.
   */
  async declare(input: DeclareVisitorFile): Promise<VisitorFile> {
    const { botId, workspaceId, userId, conversationId, name, size } = input;
    // The check before the lock keeps a flood from delaying other declarations.
    await this.checkRate(this.database, input, 1);
    const row = await this.database.transaction(async (tx) => {
      const declared = await this.declarations.declareExclusively(
        tx,
        { scope: { botId, namespace: '', owner: 'user', ownerId: userId }, workspaceId },
        {
          id: newUnguessableId('file'),
          key: `${prefix}${conversationId}/${newId('upload')}/${name}`,
          size,
          contentType: input.contentType ?? contentTypeOf(name),
          tags: { source: 'chat', conversationId, userId },
          metadata: {},
          accessPolicies: ['public_content'],
          index: false,
          indexing: {},
          immediatelyPublic: false,
          expiresAt: null,
          replaces: false,
        },
      );
      await this.checkRate(tx, input, 0);
      await this.checkStorage(tx, input);
      return declared;
    });
    const grant = { fileId: row.id, uploadId: row.upload_id, size, contentType: row.content_type, tagged: false };
    return {
      id: row.id,
      url: this.urls.publicDownload(row.id),
      uploadUrl: this.urls.upload(grant, row.upload_expires_at),
      contentType: row.content_type,
    };
  }

  async eraseSubject({ botId, conversationId, userId }: SubjectErased): Promise<void> {
    const keys = conversationId === undefined ? prefix : `${prefix}${conversationId}/`;
    let deleted: number;
    do {
      deleted = await this.database.transaction(async (tx) => {
        const files = await this.files.deleteFiles(tx, botId, userId ?? null, keys, batchSize);
        await this.work.add(tx, cleanupQueue, cleanupsOf(...files));
        return files.length;
      });
    } while (deleted === batchSize);
  }

  private async checkRate(sql: Sql, { botId, userId }: DeclareVisitorFile, more: number): Promise<void> {
    const count = await this.files.countDeclaredInLastHour(sql, botId, userId, prefix);
    if (count + more <= maxVisitorFilesPerHour) return;
    throw new ApiError(
      'RateLimited',
      `Rate limit exceeded: ${maxVisitorFilesPerHour} files per hour per user. Send further files later.`,
    );
  }

  private async checkStorage(sql: Sql, { workspaceId, storageQuota }: DeclareVisitorFile): Promise<void> {
    const { fileBytes } = await this.use.getUseOfWorkspace(sql, workspaceId);
    if (fileBytes <= storageQuota * quotaPart) return;
    throw new ApiError(
      'QuotaExceeded',
      'Quota exceeded: this bot accepts no more files, because half of the storage of its workspace is used.',
    );
  }
}
