import { Inject, Injectable } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import { type ListFilePassages, type Passages } from '@parley/contracts/passages';
import {
  type CountLeftovers,
  type FileId,
  type FileReply,
  type Files,
  type Leftovers,
  type ListFiles,
  maxIndexedBytes,
  maxMetadataBytes,
  maxTags,
  type UpdateFile,
  type UpsertedFile,
  type UpsertFile,
} from '@parley/contracts/files';
import { Database } from '@parley/database/database';
import { DeletedBotsRepository } from '@parley/file-store/deleted-bots.repository';
import { type FileRow, toFile } from '@parley/file-store/file.entity';
import { FilesRepository } from '@parley/file-store/files.repository';
import { PassagesRepository } from '@parley/file-store/passages.repository';
import { blobStore } from '@parley/file-store/tokens';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import type { PassageIndex } from '@parley/passages/passage-index';
import { passageIndex } from '@parley/passages/tokens';
import { isUUID } from 'class-validator';
import { lookup } from 'mime-types';
import { FilesConfig } from './config';
import { ContentUrls } from './content-urls';

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
    private readonly urls: ContentUrls,
    private readonly config: FilesConfig,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(passageIndex) private readonly index: PassageIndex,
  ) {}

  async upsert({ bot }: BotCaller, input: UpsertFile): Promise<UpsertedFile> {
    this.checkSize(input);
    const row = await this.files.declare({
      botId: bot.id,
      key: input.key,
      size: input.size,
      contentType: input.contentType ?? (lookup(input.key) || 'application/octet-stream'),
      tags: input.tags ?? {},
      metadata: input.metadata ?? {},
      accessPolicies: input.accessPolicies ?? [],
      index: input.index ?? false,
      indexing: input.indexing?.configuration ?? {},
      immediatelyPublic: input.publicContentImmediatelyAccessible ?? false,
      expiresAt: input.expiresAt === undefined ? null : readExpiry(input.expiresAt),
      uploadExpiresAt: this.urls.uploadExpiry(),
    });
    if (!row) throw new ApiError('Forbidden', `x-bot-id "${bot.id}" names nothing that this token may use.`);
    return { file: { ...this.toFile(row), uploadUrl: this.uploadUrl(row) } };
  }

  async get({ bot }: BotCaller, { id }: FileId): Promise<FileReply> {
    return { file: this.toFile(await this.getRow(bot.id, id)) };
  }

  async list({ bot }: BotCaller, query: ListFiles): Promise<Files> {
    const { rows, nextToken } = await this.files.list(bot.id, query);
    return { files: rows.map((row) => this.toFile(row)), meta: { nextToken } };
  }

  async update({ bot }: BotCaller, { id, expiresAt, ...change }: UpdateFile): Promise<FileReply> {
    const { id: fileId } = await this.getRow(bot.id, id);
    const row = await this.database.transaction(async (tx) => {
      const updated = await this.files.update(tx, bot.id, fileId, {
        ...change,
        expiresAt: typeof expiresAt === 'string' ? readExpiry(expiresAt) : expiresAt,
      });
      if (!updated) throw notFound('file', id);
      checkMerged(updated);
      // Its points carry the tags of before: they get the new ones soon after.
      if (change.tags && updated.index) await this.untidy.add(tx, [{ botId: bot.id, fileId }]);
      return updated;
    });
    return { file: this.toFile(row) };
  }

  async delete({ bot }: BotCaller, { id }: FileId) {
    const { id: fileId } = await this.getRow(bot.id, id);
    await this.database.transaction(async (tx) => {
      if (!(await this.files.delete(tx, bot.id, fileId))) throw notFound('file', id);
      await this.untidy.add(tx, [{ botId: bot.id, fileId }]);
    });
    return {};
  }

  async listPassages(caller: BotCaller, query: ListFilePassages): Promise<Passages> {
    const { bot } = caller;
    const file = await this.getRow(bot.id, query.id);
    // A file without a searchable content has no passages; a token of what it held before is refused all the same.
    const { passages, nextToken } = await this.passages.list(file.id, file.active_version ?? '', query);
    if (passages.length > 0 || !file.active_version) return { passages, meta: { nextToken } };

    // None, though there should be: another version was switched to between the two looks.
    const isSame = (await this.getRow(bot.id, query.id)).active_version === file.active_version;
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

  private checkSize({ size, index }: UpsertFile): void {
    if (index && size > maxIndexedBytes) {
      throw new ApiError('LimitExceeded', `size must be at most ${maxIndexedBytes} bytes for a file with index: true.`);
    }
    const { maxUploadBytes } = this.config;
    if (size > maxUploadBytes) throw new ApiError('LimitExceeded', `size must be at most ${maxUploadBytes} bytes.`);
  }

  private async getRow(botId: string, idOrKey: string): Promise<FileRow> {
    const row = await this.files.find(botId, idOrKey);
    if (!row) throw notFound('file', idOrKey);
    return row;
  }

  private toFile(row: FileRow) {
    return toFile(row, this.urls.download({ fileId: row.id, contentVersion: row.content_version ?? '' }));
  }

  private uploadUrl(row: FileRow): string {
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

/** What a file holds after a change may be too much, though the change alone is not. */
function checkMerged({ tags, metadata }: FileRow): void {
  if (Object.keys(tags).length > maxTags) {
    throw new ApiError('InvalidPayload', `tags must have at most ${maxTags} entries, with those that the file keeps.`);
  }
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes) {
    throw new ApiError(
      'InvalidPayload',
      `metadata must be at most ${maxMetadataBytes} bytes of JSON, with what the file keeps.`,
    );
  }
}

/** Whole minutes, in the future, at most 90 days ahead. */
function readExpiry(text: string): Date {
  const time = Date.parse(text);
  const minute = Math.floor(time / 60_000) * 60_000;
  if (!(minute > Date.now() && time <= Date.now() + maxLifetimeDays * dayMs)) {
    throw new ApiError(
      'InvalidPayload',
      `expiresAt must be in the future and at most ${maxLifetimeDays} days from now.`,
    );
  }
  return new Date(minute);
}
