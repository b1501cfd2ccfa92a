import type { Readable } from 'node:stream';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { BlobMissing, type BlobStore, type ByteRange } from '@parley/blobs/blob-store';
import { ApiError, notFound } from '@parley/contracts/errors';
import { fileUploaded } from '@parley/contracts/files';
import { Database } from '@parley/database/database';
import { newUlid } from '@parley/database/ids';
import { blobKey, type FileRef, type FileRow } from '@parley/file-store/file.entity';
import { FilesRepository } from '@parley/file-store/files.repository';
import { JobsRepository } from '@parley/file-store/jobs.repository';
import { blobStore } from '@parley/file-store/tokens';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import { UploadsRepository } from '@parley/file-store/uploads.repository';
import { Outbox } from '@parley/outbox/outbox';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { UploadGrant } from './content-urls';

const touchMs = 60_000;

/** Takes content in and gives it out, always as a stream. */
@Injectable()
export class ContentService implements BeforeApplicationShutdown {
  private readonly underWay = new Set<Promise<void>>();

  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly uploads: UploadsRepository,
    private readonly jobs: JobsRepository,
    private readonly untidy: UntidyFilesRepository,
    private readonly outbox: Outbox,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /** Once this resolves the content is stored and survives any crash. Throws, and keeps nothing, when the size is not as declared. */
  async upload(grant: UploadGrant, body: Readable): Promise<void> {
    const work = this.receive(grant, body).finally(() => this.underWay.delete(work));
    this.underWay.add(work);
    await work;
  }

  /** An upload that was cut still has to take back what it began. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  /** Refuses an upload before its first byte, when its length is announced and wrong. */
  async refuse(grant: UploadGrant, announcedBytes: number): Promise<never> {
    await this.getDeclared(grant);
    const error = wrongSize(grant.size, String(announcedBytes));
    await this.files.noteFailedUpload(grant.fileId, grant.uploadId, error.message);
    throw error;
  }

  /** Throws ResourceNotFound for content that is gone, replaced or expired. */
  async find(fileId: string, contentVersion: string): Promise<FileRow> {
    const file = await this.files.findVisible(fileId);
    if (!file || contentVersion === '' || file.content_version !== contentVersion)
      throw notFound('content of file', fileId);
    return file;
  }

  async read(file: FileRow, range?: ByteRange): Promise<Readable> {
    try {
      return await this.blobs.read(blobKey({ botId: file.bot_id, fileId: file.id }, file.content_version ?? ''), range);
    } catch (error) {
      if (error instanceof BlobMissing) throw notFound('content of file', file.id);
      throw error;
    }
  }

  private async receive(grant: UploadGrant, body: Readable): Promise<void> {
    const file = await this.getDeclared(grant);
    const ref = { botId: file.bot_id, fileId: file.id };
    const contentVersion = newUlid();
    await this.uploads.begin(ref, contentVersion);
    const lost = new AbortController();
    const touching = setInterval(() => this.touch(grant, contentVersion, lost), touchMs);
    try {
      await this.blobs.write(blobKey(ref, contentVersion), exactly(grant.size, body, lost.signal));
      await this.accept(grant, contentVersion);
    } catch (error) {
      await this.giveUp(grant, ref, contentVersion, error);
      throw error;
    } finally {
      clearInterval(touching);
    }
  }

  /** Ends an upload that nobody waits for any more. */
  private touch({ uploadId }: UploadGrant, contentVersion: string, lost: AbortController): void {
    this.uploads.touch(contentVersion, uploadId).then(
      (alive) => {
        if (!alive) lost.abort(replaced());
      },
      (error: unknown) =>
        this.platform.logger.warn({ err: error, contentVersion }, 'an upload under way could not be touched'),
    );
  }

  private async getDeclared({ fileId, uploadId }: UploadGrant): Promise<FileRow> {
    const file = await this.files.findVisible(fileId);
    if (!file || file.upload_id !== uploadId) throw replaced();
    return file;
  }

  /** The newest content, its job and its event in one commit, unless the file was declared anew or deleted meanwhile. */
  private accept({ fileId, uploadId }: UploadGrant, contentVersion: string): Promise<void> {
    return this.database.transaction(async (tx) => {
      const file = await this.files.findForUpdate(tx, fileId);
      if (file?.upload_id !== uploadId) throw replaced();
      if (file.status === 'upload_failed')
        throw new ApiError('Forbidden', 'This URL has expired: declare the file again to get a new one.');
      if (!(await this.uploads.end(tx, contentVersion)))
        throw new ApiError('Forbidden', 'The upload took too long: send it again.');
      const ref = { botId: file.bot_id, fileId };
      await this.files.accept(tx, fileId, contentVersion);
      if (file.content_version) await this.untidy.add(tx, [ref]);
      if (!file.index) return;
      await this.jobs.create(tx, { ...ref, contentVersion });
      await this.outbox.add(tx, fileUploaded, { ...ref, contentVersion });
    });
  }

  private async giveUp(
    { fileId, uploadId }: UploadGrant,
    ref: FileRef,
    contentVersion: string,
    error: unknown,
  ): Promise<void> {
    if (error instanceof ApiError && error.code < 500)
      await this.files.noteFailedUpload(fileId, uploadId, error.message);
    await this.database.transaction(async (tx) => {
      await this.uploads.end(tx, contentVersion);
      await this.untidy.add(tx, [ref]);
    });
  }
}

/**
 * Passes the stream on, and throws InvalidPayload at its end or at the first byte too many. The source is not destroyed
 * then: who answers decides how much more the client may send.
 */
async function* exactly(sizeBytes: number, source: Readable, lost: AbortSignal): AsyncIterable<Uint8Array> {
  let received = 0;
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      lost.throwIfAborted();
      received += chunk.length;
      if (received > sizeBytes) throw wrongSize(sizeBytes, `more than ${sizeBytes}`);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError(
      'InvalidPayload',
      `The upload was cut after ${received} of ${sizeBytes} bytes: send it again to the same URL.`,
      { cause: error },
    );
  }
  if (received < sizeBytes) throw wrongSize(sizeBytes, `only ${received}`);
}

function wrongSize(declared: number, received: string): ApiError {
  return new ApiError(
    'InvalidPayload',
    `The upload carries ${received} bytes, but size was declared as ${declared}: send exactly these, or declare the file again.`,
  );
}

function replaced(): ApiError {
  return new ApiError(
    'Forbidden',
    'The file was deleted or declared anew since this URL was made: ask for the file again.',
  );
}
