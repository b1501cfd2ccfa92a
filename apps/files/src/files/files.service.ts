import { extname } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import {
  type CopyFile,
  type CountLeftovers,
  type FileId,
  files as operations,
  type FileReply,
  type Files,
  type FileTags,
  type FileTagValues,
  type Leftovers,
  type ListFiles,
  type ListFileTagValues,
  maxKeyLength,
  maxMetadataBytes,
  maxTags,
  tagName,
  type UpdateFile,
  type UpsertedFile,
  type UpsertFile,
} from '@parley/contracts/files';
import type { Empty, PageQuery } from '@parley/contracts/paging';
import { type ListFilePassages, type Passages, type SetFilePassages } from '@parley/contracts/passages';
import { Database } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { newUlid } from '@parley/persistence/ids';
import { DeletedBotsRepository } from '@parley/file-store/deleted-bots.repository';
import { type FileEntity, type FileWithJob, toFile } from '@parley/file-store/file.entity';
import { type FileScope, fileScopeOf, owns } from '@parley/file-store/file-scope';
import { FileTagsRepository } from '@parley/file-store/file-tags.repository';
import { FilesRepository } from '@parley/file-store/files.repository';
import { PassagesRepository } from '@parley/file-store/passages.repository';
import { blobStore } from '@parley/file-store/tokens';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import type { PassageIndex } from '@parley/passages/passage-index';
import { passageIndex } from '@parley/passages/tokens';
import { isUUID } from 'class-validator';
import { lookup } from 'mime-types';
import { ContentService } from '../content/content.service';
import { ContentUrlsService } from '../content/content-urls.service';
import { DeclarationsService } from './declarations.service';
import { DestinationsService } from './destinations.service';
import { IndexingService } from '../indexing-work/indexing.service';

const maxLifetimeDays = 90;
const dayMs = 24 * 3_600_000;

@Injectable()
export class FilesService {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly passages: PassagesRepository,
    private readonly untidy: UntidyFilesRepository,
    private readonly deletedBots: DeletedBotsRepository,
    private readonly tags: FileTagsRepository,
    private readonly indexing: IndexingService,
    private readonly idempotency: Idempotency,
    private readonly declarations: DeclarationsService,
    private readonly destinations: DestinationsService,
    private readonly content: ContentService,
    private readonly urls: ContentUrlsService,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(passageIndex) private readonly index: PassageIndex,
  ) {}

  async upsert(caller: BotCaller, input: UpsertFile): Promise<UpsertedFile> {
    const row = await this.declarations.declare(this.declarations.placeOf(caller), {
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
    return { file: this.toFile(await this.getRow(fileScopeOf(caller), id)) };
  }

  async list(caller: BotCaller, query: ListFiles): Promise<Files> {
    const { rows, nextToken } = await this.files.listReadable(fileScopeOf(caller), query);
    return { files: rows.map((row) => this.toFile(row)), meta: { nextToken } };
  }

  async update(caller: BotCaller, { id, expiresAt, ...change }: UpdateFile): Promise<FileReply> {
    const scope = fileScopeOf(caller);
    checkNewNames(change);
    const { id: fileId } = await this.getOwn(scope, id);
    const row = await this.database.transaction(async (tx) => {
      const updated = await this.files.updateFile(tx, scope, fileId, {
        ...change,
        expiresAt: typeof expiresAt === 'string' ? readExpiry(expiresAt) : expiresAt,
      });
      if (!updated) throw notFound('file', id);
      checkMerged(updated);
      // Its points still carry the old tags; the sweeper updates them soon after.
      if (change.tags && updated.index) await this.untidy.enqueueFiles(tx, [{ botId: scope.botId, fileId }]);
      return updated;
    });
    return { file: this.toFile(row) };
  }

  async delete(caller: BotCaller, { id }: FileId) {
    const scope = fileScopeOf(caller);
    const { id: fileId } = await this.getOwn(scope, id);
    await this.database.transaction(async (tx) => {
      if (!(await this.files.deleteFile(tx, scope, fileId))) throw notFound('file', id);
      await this.untidy.enqueueFiles(tx, [{ botId: scope.botId, fileId }]);
    });
    return {};
  }

  /** Copies the bytes first: until they are complete, the copy is invisible and a file that it replaces stays. */
  async copy(caller: BotCaller, input: CopyFile): Promise<FileReply> {
    const { idOrKey, destinationKey: key, destinationBotId, overwrite: replaces = false } = input;
    const known = await this.idempotency.find<FileReply>(caller, operations.copy, input);
    if (known) return known;
    const source = await this.getRow(fileScopeOf(caller), idOrKey);
    if (source.blob_version === null) {
      throw new ApiError(
        'InvalidPayload',
        `The file "${idOrKey}" has no content yet: upload the content, then copy the file.`,
      );
    }
    if ([...key].length > maxKeyLength) {
      throw new ApiError('InvalidPayload', `destinationKey must be at most ${maxKeyLength} characters.`);
    }
    const place = await this.destinations.find(caller, destinationBotId);
    return this.content.copy(place, source, { key, replaces }, (work) =>
      this.idempotency.run(caller, operations.copy, input, async (tx) => ({ file: this.toFile(await work(tx)) })),
    );
  }

  async listTags(caller: BotCaller, query: PageQuery): Promise<FileTags> {
    const { names, nextToken } = await this.tags.listNames(fileScopeOf(caller), query);
    return { tags: names, meta: { nextToken } };
  }

  async listTagValues(caller: BotCaller, { tag, ...query }: ListFileTagValues): Promise<FileTagValues> {
    const { values, nextToken } = await this.tags.listValues(fileScopeOf(caller), tag, query);
    return { values, meta: { nextToken } };
  }

  /** Stores the passages at once. They replace the current ones when their vectors are written. */
  async setPassages(caller: BotCaller, { id, passages }: SetFilePassages): Promise<Empty> {
    const scope = fileScopeOf(caller);
    const { id: fileId } = await this.getOwn(scope, id);
    await this.database.transaction(async (tx) => {
      const file = await this.files.findFileForUpdate(tx, fileId);
      if (!file) throw notFound('file', id);
      if (!file.index)
        throw new ApiError('InvalidPayload', `The file "${id}" is not indexed: declare it with index: true.`);
      if (file.blob_version === null)
        throw new ApiError(
          'InvalidPayload',
          `The file "${id}" has no content yet: upload the content, then set its passages.`,
        );
      const version = { botId: scope.botId, fileId, contentVersion: newUlid() };
      await this.passages.upsertPassages(
        version,
        passages.map(({ content, type = 'paragraph', pageNumber }, position) => ({
          position,
          content,
          type: type === 'image' ? 'image' : 'chunk',
          subtype: type,
          pageNumber,
          breadcrumb: [],
        })),
        tx,
      );
      await this.indexing.beginSet(tx, version);
    });
    return {};
  }

  async listPassages(caller: BotCaller, query: ListFilePassages): Promise<Passages> {
    const scope = fileScopeOf(caller);
    const file = await this.getRow(scope, query.id);
    // A file without an active version has no passages, but a page token of an earlier version is rejected all the
    // same.
    const { passages, nextToken } = await this.passages.listOfActiveVersion(file.id, file.active_version ?? '', query);
    if (passages.length > 0 || !file.active_version) return { passages, meta: { nextToken } };

    // Race: another version became active between the two queries.
    const isSame = (await this.getRow(scope, query.id)).active_version === file.active_version;
    return isSame ? { passages, meta: { nextToken } } : this.listPassages(caller, query);
  }

  async countLeftovers({ botId }: CountLeftovers): Promise<Leftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    const [rows, blobs, points] = await Promise.all([
      this.deletedBots.countRows(botId),
      this.blobs.count(botId),
      this.index.count(botId),
    ]);
    return { ...rows, blobs, points };
  }

  private async getRow(scope: FileScope, idOrKey: string): Promise<FileWithJob> {
    const row = await this.files.findReadable(scope, idOrKey);
    if (!row) throw notFound('file', idOrKey);
    return row;
  }

  /** A file that the caller may change. Throws Forbidden for a file that it may only read. */
  private async getOwn(scope: FileScope, idOrKey: string): Promise<FileEntity> {
    const row = await this.getRow(scope, idOrKey);
    if (!owns(scope, row))
      throw new ApiError(
        'Forbidden',
        `The file "${idOrKey}" belongs to another owner: only its owner and the bot may change it.`,
      );
    return row;
  }

  private toFile(row: FileEntity & Partial<FileWithJob>) {
    const isPublic = row.access_policies.includes('public_content');
    const version = row.blob_version ?? row.upload_id ?? '';
    const url = isPublic ? this.urls.publicDownload(row.id) : this.urls.download(row.id, version);
    return toFile(row, url);
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

/** From the extension alone: a key such as `html` has none. */
function contentTypeOf(key: string): string {
  const extension = extname(key);
  if (extension.toLowerCase() === '.jsonl') return 'application/jsonl';
  return lookup(extension) || 'application/octet-stream';
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
