import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { Empty } from '@parley/contracts/paging';
import type { ListFilePassages, Passages, SetFilePassages } from '@parley/contracts/passages';
import { Database } from '@parley/persistence/database';
import { newUlid } from '@parley/persistence/ids';
import { fileScopeOf } from '../store/file-scope';
import { FilesRepository } from '../store/files.repository';
import { PassagesRepository } from '../store/passages.repository';
import { FileLookupService } from '../files/file-lookup.service';
import { IndexingService } from '../indexing-work/indexing.service';

@Injectable()
export class PassagesService {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly passages: PassagesRepository,
    private readonly lookup: FileLookupService,
    private readonly indexing: IndexingService,
  ) {}

  /** Stores the passages at once. They replace the current ones when their vectors are written. */
  async set(caller: BotCaller, { id, passages }: SetFilePassages): Promise<Empty> {
    const scope = fileScopeOf(caller);
    const { id: fileId } = await this.lookup.getOwn(scope, id);
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

  async list(caller: BotCaller, query: ListFilePassages): Promise<Passages> {
    const scope = fileScopeOf(caller);
    const file = await this.lookup.getReadable(scope, query.id);
    // A file without an active version has no passages, but a page token of an earlier version is rejected all the
    // same.
    const { passages, nextToken } = await this.passages.listOfActiveVersion(file.id, file.active_version ?? '', query);
    if (passages.length > 0 || !file.active_version) return { passages, meta: { nextToken } };

    // Race: another version became active between the two queries.
    const isSame = (await this.lookup.getReadable(scope, query.id)).active_version === file.active_version;
    return isSame ? { passages, meta: { nextToken } } : this.list(caller, query);
  }
}
