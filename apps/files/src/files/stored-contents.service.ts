import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { type FileReply, maxStoredBytes, type StoreFile } from '@parley/contracts/files';
import { UploadsService } from '../content/uploads.service';
import { DeclarationsService } from './declarations.service';
import { FilesService } from './files.service';
import { storageTargetOf } from './storage-target';

const dayMs = 24 * 3_600_000;

/** Files that are declared with their content, for other services. */
@Injectable()
export class StoredContentsService {
  constructor(
    private readonly declarations: DeclarationsService,
    private readonly uploads: UploadsService,
    private readonly files: FilesService,
  ) {}

  /** Throws like `DeclarationsService.declare`, and a 503. Leaves no file without content. */
  async store(caller: BotCaller, input: StoreFile): Promise<FileReply> {
    const content = Buffer.from(input.content, 'base64');
    const { length: size } = content;
    if (size > maxStoredBytes)
      throw new ApiError('PayloadTooLarge', `The content has ${size} bytes: it may have ${maxStoredBytes}.`);
    const file = await this.declarations.declare(storageTargetOf(caller), {
      ...{ key: input.key, size, contentType: input.contentType, tags: input.tags, metadata: {} },
      ...{ accessPolicies: ['public_content'], index: false, indexing: {}, immediatelyPublic: false, replaces: true },
      expiresAt: new Date(Math.floor(Date.now() / 60_000) * 60_000 + input.expirationDays * dayMs),
    });
    const grant = { fileId: file.id, uploadId: file.upload_id, size, contentType: file.content_type, tagged: false };
    try {
      await this.uploads.upload(grant, { botId: file.bot_id, fileId: file.id }, Readable.from([content]));
    } catch (error) {
      await this.files.delete(caller, { id: file.id });
      throw error;
    }
    return this.files.get(caller, { id: file.id });
  }
}
