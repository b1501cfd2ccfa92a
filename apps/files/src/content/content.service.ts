import type { Readable } from 'node:stream';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { BlobMissing, type BlobStore, type ByteRange } from '@parley/blobs/blob-store';
import { ApiError, notFound } from '@parley/contracts/errors';
import { storageProblem } from '@parley/contracts/storage';
import { Database, type Transaction } from '@parley/persistence/database';
import { newId, newUlid } from '@parley/persistence/ids';
import { blobKey, blobOf, type FileEntity, type FileRef } from '@parley/file-store/file.entity';
import { FilesRepository } from '@parley/file-store/files.repository';
import { blobStore } from '@parley/file-store/tokens';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import { UploadsRepository } from '@parley/file-store/uploads.repository';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { UploadGrant } from './content-urls.service';
import { DeclarationsService, type StorageTarget } from '../files/declarations.service';
import { IndexingService } from '../indexing-work/indexing.service';

const touchMs = 60_000;

@Injectable()
export class ContentService implements BeforeApplicationShutdown {
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(
    private readonly database: Database,
    private readonly declarations: DeclarationsService,
    private readonly files: FilesRepository,
    private readonly uploads: UploadsRepository,
    private readonly untidy: UntidyFilesRepository,
    private readonly indexing: IndexingService,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /** File of an upload URL. Throws Forbidden when it was declared again, deleted or has expired since. */
  async getDeclared({ fileId, uploadId }: UploadGrant): Promise<FileRef> {
    const file = await this.files.findUnexpired(fileId);
    if (!file || file.upload_id !== uploadId) throw replaced();
    return { botId: file.bot_id, fileId };
  }

  /**
   * Durable: once this resolves, the content survives any crash. Throws and keeps nothing when the size differs from
   * the declared one.
   *
   * @param ref from `getDeclared`
   */
  async upload(grant: UploadGrant, ref: FileRef, body: Readable): Promise<void> {
    await this.track(this.receive(grant, ref, body));
  }

  private track<T>(task: Promise<T>): Promise<T> {
    const work = task.finally(() => this.underWay.delete(work));
    this.underWay.add(work);
    return work;
  }

  /** Aborted uploads still have to remove their partial blobs. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  async refuse(grant: UploadGrant, announcedBytes: number): Promise<never> {
    const error = wrongSize(grant.size, String(announcedBytes));
    await this.files.recordFailedUpload(grant.fileId, grant.uploadId, error.message);
    throw error;
  }

  /**
   * Throws ResourceNotFound for content that was deleted, replaced or has expired.
   *
   * @param version of the content, or the id of its upload: a file that was just declared has no content version yet
   */
  async find(fileId: string, version: string): Promise<FileEntity> {
    const file = await this.files.findUnexpired(fileId);
    const isThere = file?.blob_version && [file.blob_version, file.upload_id].includes(version);
    if (!isThere) throw notFound('content of file', fileId);
    return file;
  }

  /** For URLs without a signature. Private and missing files get the same error. */
  async findPublic(fileId: string): Promise<FileEntity> {
    // Postgres rejects text that it cannot store, such as a NUL character in the path.
    const file = storageProblem(fileId) ? undefined : await this.files.findUnexpired(fileId);
    if (!file || file.blob_version === null || !file.access_policies.includes('public_content')) {
      throw new ApiError('Forbidden', 'This URL has no signature, and no public content was found at it.');
    }
    return file;
  }

  /**
   * Copies a file. Nothing of the copy is visible, and a file that it replaces is kept, until the bytes are complete.
   * Throws the errors of a declaration, and ResourceNotFound when the content was deleted meanwhile.
   *
   * @param commit runs the declaration of the copy in a transaction, or returns the result of an identical earlier
   * request
   */
  async copy<T>(
    place: StorageTarget,
    source: FileEntity,
    { key, replaces }: { key: string; replaces: boolean },
    commit: (work: (tx: Transaction) => Promise<FileEntity>) => Promise<T>,
  ): Promise<T> {
    const declaration = { ...declarationOf(source), key, replaces };
    const former = await this.declarations.refuseEarly(place, declaration);
    const ref = { botId: place.scope.botId, fileId: former?.id ?? newId('file') };
    return this.track(
      this.copyTo(
        ref,
        source,
        (tx) => this.declarations.declareCarefully(tx, place, { ...declaration, id: ref.fileId }),
        commit,
      ),
    );
  }

  private async copyTo<T>(
    ref: FileRef,
    source: FileEntity,
    declare: (tx: Transaction) => Promise<FileEntity>,
    commit: (work: (tx: Transaction) => Promise<FileEntity>) => Promise<T>,
  ): Promise<T> {
    const contentVersion = newUlid();
    await this.uploads.insertUpload(ref, contentVersion);
    const touching = setInterval(() => this.touch(null, contentVersion), touchMs);
    let isHeld = false;
    try {
      await found(source, this.blobs.copy(blobOf(source), blobKey(ref, contentVersion)));
      return await commit(async (tx) => {
        const file = await declare(tx);
        if (file.id !== ref.fileId || !(await this.uploads.deleteUpload(tx, contentVersion))) throw copiedAtOnce(file.key);
        await this.hold(tx, file, contentVersion);
        await this.untidy.enqueueFiles(tx, [ref]);
        tx.afterCommit(() => (isHeld = true));
        return (await this.files.findFileForUpdate(tx, file.id))!;
      });
    } finally {
      clearInterval(touching);
      if (!isHeld) await this.dropUpload(ref, contentVersion);
    }
  }

  read(file: FileEntity, range?: ByteRange): Promise<Readable> {
    return found(file, this.blobs.read(blobOf(file), range));
  }

  private async receive(grant: UploadGrant, ref: FileRef, body: Readable): Promise<void> {
    const contentVersion = newUlid();
    await this.uploads.insertUpload(ref, contentVersion);
    const lost = new AbortController();
    const touching = setInterval(() => this.touch(grant.uploadId, contentVersion, lost), touchMs);
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

  /** Heartbeat of an upload or copy. Aborts an upload that can no longer be accepted. */
  private touch(uploadId: string | null, contentVersion: string, lost?: AbortController): void {
    this.uploads.renewUpload(contentVersion, uploadId).then(
      (alive) => {
        if (!alive) lost?.abort(replaced());
      },
      (error: unknown) =>
        this.platform.logger.warn({ err: error, contentVersion }, 'the heartbeat of an upload failed'),
    );
  }

  /**
   * Commits the newest content, its job and its event in one transaction, unless the file was declared again or deleted
   * meanwhile.
   */
  private accept({ fileId, uploadId }: UploadGrant, contentVersion: string): Promise<void> {
    return this.database.transaction(async (tx) => {
      const file = await this.files.findFileForUpdate(tx, fileId);
      if (file?.upload_id !== uploadId) throw replaced();
      if (file.status === 'upload_failed')
        throw new ApiError('Forbidden', 'This URL has expired: declare the file again to get a new one.');
      if (!(await this.uploads.deleteUpload(tx, contentVersion)))
        throw new ApiError('Forbidden', 'The upload took too long: send it again.');
      await this.hold(tx, file, contentVersion);
    });
  }

  private async hold(tx: Transaction, file: FileEntity, contentVersion: string): Promise<void> {
    const ref = { botId: file.bot_id, fileId: file.id };
    await this.files.acceptContent(tx, file.id, contentVersion);
    if (file.content_version) await this.untidy.enqueueFiles(tx, [ref]);
    if (!file.index) return;
    await this.indexing.begin(tx, { ...ref, contentVersion }, 'content');
  }

  private async giveUp(
    { fileId, uploadId }: UploadGrant,
    ref: FileRef,
    contentVersion: string,
    error: unknown,
  ): Promise<void> {
    if (error instanceof ApiError && error.code < 500)
      await this.files.recordFailedUpload(fileId, uploadId, error.message);
    await this.dropUpload(ref, contentVersion);
  }

  private dropUpload(ref: FileRef, contentVersion: string): Promise<void> {
    return this.database.transaction(async (tx) => {
      await this.uploads.deleteUpload(tx, contentVersion);
      await this.untidy.enqueueFiles(tx, [ref]);
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

/** ResourceNotFound for a blob that was removed after its file was read from the database. */
async function found<T>({ id }: FileEntity, blob: Promise<T>): Promise<T> {
  return blob.catch((error: unknown) => {
    throw error instanceof BlobMissing ? notFound('content of file', id) : error;
  });
}

function declarationOf(source: FileEntity) {
  return {
    size: Number(source.size),
    contentType: source.content_type,
    tags: source.tags,
    metadata: source.metadata,
    accessPolicies: source.access_policies,
    index: source.index,
    indexing: source.indexing,
    immediatelyPublic: source.immediately_public,
    expiresAt: source.expires_at,
  };
}

function copiedAtOnce(key: string): ApiError {
  return new ApiError(
    'ResourceLockedConflict',
    `The file with the key "${key}" was changed by another request during the copy: copy again.`,
    { retryAfterSeconds: 1 },
  );
}

function replaced(): ApiError {
  return new ApiError(
    'Forbidden',
    'The file was deleted or declared again since this URL was made: get the file again for a new URL.',
  );
}
