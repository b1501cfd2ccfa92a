import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { BlobMissing, type BlobStore, type ByteRange } from '@parley/blobs/blob-store';
import { ApiError, notFound } from '@parley/contracts/errors';
import { storageProblem } from '@parley/contracts/storage';
import { blobKey, blobOf, type FileEntity, type FileRef } from '../store/file.entity';
import { FilesRepository } from '../store/files.repository';
import { blobStore } from '../store/tokens';

/** Stored contents of files. */
@Injectable()
export class ContentService {
  constructor(
    private readonly files: FilesRepository,
    @Inject(blobStore) private readonly blobs: BlobStore,
  ) {}

  /**
   * Throws ResourceNotFound for content that was deleted, replaced or has expired.
   *
   * @param version of the content, or the id of its upload: a file that was just declared has no content version yet
   */
  async find(fileId: string, version: string): Promise<FileEntity> {
    const file = await this.files.findUnexpired(fileId);
    const hasContent = file?.blob_version && [file.blob_version, file.upload_id].includes(version);
    if (!hasContent) throw notFound('content of file', fileId);
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

  read(file: FileEntity, range?: ByteRange): Promise<Readable> {
    return orNotFound(file, this.blobs.read(blobOf(file), range));
  }

  copyBlob(source: FileEntity, ref: FileRef, contentVersion: string): Promise<void> {
    return orNotFound(source, this.blobs.copy(blobOf(source), blobKey(ref, contentVersion)));
  }
}

/** ResourceNotFound for a blob that was removed after its file was read from the database. */
async function orNotFound<T>({ id }: FileEntity, blob: Promise<T>): Promise<T> {
  return blob.catch((error: unknown) => {
    throw error instanceof BlobMissing ? notFound('content of file', id) : error;
  });
}
