import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import {
  type FileId,
  type FileReply,
  type Files,
  type FileTags,
  type FileTagValues,
  type ListFiles,
  type ListFileTagValues,
  maxLifetimeDays,
  maxMetadataBytes,
  maxTags,
  tagName,
  type UpdateFile,
  type UpsertedFile,
  type UpsertFile,
} from '@parley/contracts/files';
import type { PageQuery } from '@parley/contracts/paging';
import { Database } from '@parley/persistence/database';
import { type FileEntity, type FileWithJob, toFile } from '../store/file.entity';
import { fileScopeOf } from '../store/file-scope';
import { FileTagsRepository } from '../store/file-tags.repository';
import { FilesRepository } from '../store/files.repository';
import { JobsRepository } from '../store/jobs.repository';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { cleanupQueue, cleanupsOf, retagQueue } from '../store/cleanup-queue';
import { ContentUrlsService } from '../content/content-urls.service';
import { IndexingWorkService } from '../indexing-work/indexing-work.service';
import { contentTypeOf } from './content-type';
import { DeclarationsService } from './declarations.service';
import { FileLookupService } from './file-lookup.service';
import { storageTargetOf } from './storage-target';

const dayMs = 24 * 3_600_000;

@Injectable()
export class FilesService {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly tags: FileTagsRepository,
    private readonly work: WorkQueue,
    private readonly lookup: FileLookupService,
    private readonly declarations: DeclarationsService,
    private readonly urls: ContentUrlsService,
    private readonly indexing: IndexingWorkService,
    private readonly jobs: JobsRepository,
  ) {}

  async upsert(caller: BotCaller, input: UpsertFile): Promise<UpsertedFile> {
    const row = await this.declarations.declare(storageTargetOf(caller), {
      key: input.key,
      size: input.size,
      contentType: input.contentType ?? contentTypeOf(input.key),
      tags: input.tags ?? {},
      metadata: input.metadata ?? {},
      accessPolicies: input.accessPolicies ?? [],
      index: input.index ?? false,
      indexing: input.indexing?.configuration ?? {},
      immediatelyPublic: input.publicContentImmediatelyAccessible ?? false,
      expiresAt: input.expiresAt === undefined ? null : readExpiry(input.expiresAt),
      replaces: true,
    });
    return { file: { ...this.toFile(row), uploadUrl: this.uploadUrl(row) } };
  }

  async get(caller: BotCaller, { id }: FileId): Promise<FileReply> {
    const row = await this.lookup.getReadable(fileScopeOf(caller), id);
    const file = this.toFile(row);
    if (file.indexing?.stage === 'announced') {
      file.indexing.placeInLine = await this.jobs.findPlaceInLine({ botId: row.bot_id, fileId: row.id });
    }
    return { file };
  }

  async list(caller: BotCaller, query: ListFiles): Promise<Files> {
    const { rows, nextToken } = await this.files.listReadable(fileScopeOf(caller), query);
    return { files: rows.map((row) => this.toFile(row)), meta: { nextToken } };
  }

  async update(caller: BotCaller, { id, expiresAt, ...change }: UpdateFile): Promise<FileReply> {
    const scope = fileScopeOf(caller);
    checkNewNames(change);
    const { id: fileId } = await this.lookup.getOwn(scope, id);
    const row = await this.database.transaction(async (tx) => {
      const updated = await this.files.updateFile(tx, scope, fileId, {
        ...change,
        expiresAt: typeof expiresAt === 'string' ? readExpiry(expiresAt) : expiresAt,
      });
      if (!updated) throw notFound('file', id);
      checkMerged(updated);
      // Its points still carry the old tags; the worker, which wakes after the commit, updates them.
      if (change.tags && updated.index) await this.work.add(tx, retagQueue, cleanupsOf({ botId: scope.botId, fileId }));
      return updated;
    });
    return { file: this.toFile(row) };
  }

  async delete(caller: BotCaller, { id }: FileId) {
    const scope = fileScopeOf(caller);
    const { id: fileId } = await this.lookup.getOwn(scope, id);
    await this.database.transaction(async (tx) => {
      if (!(await this.files.deleteFile(tx, scope, fileId))) throw notFound('file', id);
      await this.work.add(tx, cleanupQueue, cleanupsOf({ botId: scope.botId, fileId }));
    });
    return {};
  }

  /** The active version stays searchable until the new one is complete. */
  async indexAgain(caller: BotCaller, { id }: FileId) {
    const file = await this.lookup.getOwn(fileScopeOf(caller), id);
    await this.indexing.indexAgain(file.id);
    return {};
  }

  async listTags(caller: BotCaller, query: PageQuery): Promise<FileTags> {
    const { names, nextToken } = await this.tags.listNames(fileScopeOf(caller), query);
    return { tags: names, meta: { nextToken } };
  }

  async listTagValues(caller: BotCaller, { tag, ...query }: ListFileTagValues): Promise<FileTagValues> {
    const { values, nextToken } = await this.tags.listValues(fileScopeOf(caller), tag, query);
    return { values, meta: { nextToken } };
  }

  private toFile(row: FileEntity & Partial<FileWithJob>) {
    return toFile(row, this.urls.contentUrl(row));
  }

  private uploadUrl(row: FileEntity): string {
    const grant = {
      fileId: row.id,
      uploadId: row.upload_id,
      size: Number(row.declared_size),
      contentType: row.content_type,
      tagged: row.immediately_public,
    };
    return this.urls.upload(grant, row.upload_expires_at);
  }
}

/** Tag names over 200 characters, stored before that limit existed, can only be removed. */
function checkNewNames({ tags = {} }: Pick<UpdateFile, 'tags'>): void {
  const wrong = Object.keys(tags).find((name) => tags[name] !== null && !tagName.test(name));
  if (wrong !== undefined) {
    throw new ApiError('InvalidPayload', `tags: the name "${wrong.slice(0, 50)}…" must be at most 200 characters.`);
  }
}

/** Limits of the merged result: a small change may exceed them together with the stored entries. */
function checkMerged({ tags, metadata }: FileEntity): void {
  if (Object.keys(tags).length > maxTags) {
    throw new ApiError('InvalidPayload', `tags must have at most ${maxTags} entries, including stored ones.`);
  }
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes) {
    throw new ApiError(
      'InvalidPayload',
      `metadata must be at most ${maxMetadataBytes} bytes of JSON, including stored entries.`,
    );
  }
}

/** Rounds down to the minute; must then be in the future and at most 90 days ahead. UTC when no time zone is given. */
function readExpiry(text: string): Date {
  const isLocal = /T[^Z+-]*$/i.test(text);
  const minute = Math.floor(Date.parse(isLocal ? `${text}Z` : text) / 60_000) * 60_000;
  if (!(minute > Date.now() && minute <= Date.now() + maxLifetimeDays * dayMs)) {
    throw new ApiError(
      'InvalidPayload',
      `expiresAt must be in the future and at most ${maxLifetimeDays} days from now, rounded down to the minute.`,
    );
  }
  return new Date(minute);
}
