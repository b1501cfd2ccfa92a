import type { Readable } from 'node:stream';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { blobKey, type FileRef } from '../store/file.entity';
import { FilesRepository } from '../store/files.repository';
import { blobStore } from '../store/tokens';
import type { UploadGrant } from './content-urls.service';
import { declaredAgain, PendingContentService } from './pending-content.service';

@Injectable()
export class UploadsService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly pending: PendingContentService,
    @Inject(blobStore) private readonly blobs: BlobStore,
  ) {}

  onModuleInit(): Promise<void> {
    return this.blobs.readyToWrite();
  }

  /** File of an upload URL. Throws Forbidden when it was declared again, deleted or has expired since. */
  async getDeclared({ fileId, uploadId }: UploadGrant): Promise<FileRef> {
    const file = await this.files.findUnexpired(fileId);
    if (!file || file.upload_id !== uploadId) throw declaredAgain();
    return { botId: file.bot_id, fileId };
  }

  async refuse(grant: UploadGrant, announcedBytes: number): Promise<never> {
    const error = wrongSize(grant.size, String(announcedBytes));
    await this.files.recordFailedUpload(grant.fileId, grant.uploadId, error.message);
    throw error;
  }

  /**
   * Durable: once this resolves, the content survives any crash. Throws and keeps nothing when the size differs from
   * the declared one.
   *
   * @param ref from `getDeclared`
   */
  upload(grant: UploadGrant, ref: FileRef, body: Readable): Promise<void> {
    return this.pending.receive(ref, grant.uploadId, async (contentVersion, lost) => {
      try {
        await this.blobs.write(blobKey(ref, contentVersion), exactly(grant.size, body, lost));
        await this.accept(grant, contentVersion);
      } catch (error) {
        if (error instanceof ApiError && error.code < 500)
          await this.files.recordFailedUpload(grant.fileId, grant.uploadId, error.message);
        await this.pending.discard(ref, contentVersion);
        throw error;
      }
    });
  }

  /**
   * Commits the newest content, its job and its event in one transaction, unless the file was declared again or deleted
   * meanwhile.
   */
  private accept({ fileId, uploadId }: UploadGrant, contentVersion: string): Promise<void> {
    return this.database.transaction(async (tx) => {
      const file = await this.files.findFileForUpdate(tx, fileId);
      if (file?.upload_id !== uploadId) throw declaredAgain();
      if (file.status === 'upload_failed')
        throw new ApiError('Forbidden', 'This URL has expired: declare the file again to get a new one.');
      if (!(await this.pending.accept(tx, file, contentVersion)))
        throw new ApiError('Forbidden', 'The upload took too long: send it again.');
    });
  }
}

/**
 * Passes the stream on. Throws InvalidPayload at the first byte too many, or at the end when bytes are missing. Does
 * not destroy the source: the HTTP layer decides how much more the client may send.
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
    `The upload carries ${received} bytes, but size was declared as ${declared}: send ${declared} bytes, or declare the file again.`,
  );
}
