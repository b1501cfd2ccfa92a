import { Injectable } from '@nestjs/common';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { FileEntity, FileWithJob } from '../store/file.entity';
import { type FileScope, owns } from '../store/file-scope';
import { FilesRepository } from '../store/files.repository';

/** Files by id or key, within the access of the caller. Throws ResourceNotFound for unreadable files. */
@Injectable()
export class FileLookupService {
  constructor(private readonly files: FilesRepository) {}

  async getReadable(scope: FileScope, idOrKey: string): Promise<FileWithJob> {
    const row = await this.files.findReadable(scope, idOrKey);
    if (!row) throw notFound('file', idOrKey);
    return row;
  }

  /** A file that the caller may change. Throws Forbidden for a file that it may only read. */
  async getOwn(scope: FileScope, idOrKey: string): Promise<FileEntity> {
    const row = await this.getReadable(scope, idOrKey);
    if (!owns(scope, row))
      throw new ApiError(
        'Forbidden',
        `The file "${idOrKey}" belongs to another owner: only its owner and the bot may change it.`,
      );
    return row;
  }
}
