import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { type CopyFile, type FileReply, files as operations, maxKeyLength } from '@parley/contracts/files';
import { Idempotency } from '@parley/persistence/idempotency';
import { newId } from '@parley/persistence/ids';
import type { Transaction } from '@parley/persistence/database';
import { type FileEntity, toFile } from '../store/file.entity';
import { fileScopeOf } from '../store/file-scope';
import { ContentService } from '../content/content.service';
import { ContentUrlsService } from '../content/content-urls.service';
import { PendingContentService } from '../content/pending-content.service';
import { DeclarationsService } from './declarations.service';
import { DestinationsService } from './destinations.service';
import { FileLookupService } from './file-lookup.service';
import type { StorageTarget } from './storage-target';

@Injectable()
export class CopiesService {
  constructor(
    private readonly lookup: FileLookupService,
    private readonly idempotency: Idempotency,
    private readonly declarations: DeclarationsService,
    private readonly destinations: DestinationsService,
    private readonly contents: ContentService,
    private readonly pending: PendingContentService,
    private readonly urls: ContentUrlsService,
  ) {}

  /** Copies the bytes first: until they are complete, the copy is invisible and a file that it replaces stays. */
  async copy(caller: BotCaller, input: CopyFile): Promise<FileReply> {
    const { idOrKey, destinationKey: key, destinationBotId, overwrite: replaces = false } = input;
    const known = await this.idempotency.find<FileReply>(caller, operations.copy, input);
    if (known) return known;
    const source = await this.lookup.getReadable(fileScopeOf(caller), idOrKey);
    if (source.blob_version === null) {
      throw new ApiError(
        'InvalidPayload',
        `The file "${idOrKey}" has no content yet: upload the content, then copy the file.`,
      );
    }
    if ([...key].length > maxKeyLength) {
      throw new ApiError('InvalidPayload', `destinationKey must be at most ${maxKeyLength} characters.`);
    }
    const target = await this.destinations.find(caller, destinationBotId);
    return this.copyContent(target, source, { key, replaces }, (accept) =>
      this.idempotency.run(caller, operations.copy, input, async (tx) => {
        const row = await accept(tx);
        return { file: toFile(row, this.urls.contentUrl(row)) };
      }),
    );
  }

  /**
   * Nothing of the copy is visible, and a file that it replaces is kept, until the bytes are complete. Throws the errors
   * of a declaration, and ResourceNotFound when the content was deleted meanwhile.
   *
   * @param commit runs the acceptance of the copy in a transaction, or returns the result of an identical earlier
   * request
   */
  private async copyContent<T>(
    target: StorageTarget,
    source: FileEntity,
    { key, replaces }: { key: string; replaces: boolean },
    commit: (accept: (tx: Transaction) => Promise<FileEntity>) => Promise<T>,
  ): Promise<T> {
    const declaration = { ...declarationOf(source), key, replaces };
    const former = await this.declarations.refuseEarly(target, declaration);
    const ref = { botId: target.scope.botId, fileId: former?.id ?? newId('file') };
    return this.pending.receive(ref, null, async (contentVersion) => {
      let isAccepted = false;
      try {
        await this.contents.copyBlob(source, ref, contentVersion);
        return await commit(async (tx) => {
          const file = await this.declarations.declareExclusively(tx, target, { ...declaration, id: ref.fileId });
          const accepted = file.id === ref.fileId ? await this.pending.acceptCopy(tx, file, contentVersion) : undefined;
          if (!accepted) throw changedDuringCopy(file.key);
          tx.afterCommit(() => (isAccepted = true));
          return accepted;
        });
      } finally {
        if (!isAccepted) await this.pending.discard(ref, contentVersion);
      }
    });
  }
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

function changedDuringCopy(key: string): ApiError {
  return new ApiError(
    'ResourceLockedConflict',
    `The file with the key "${key}" was changed by another request during the copy: copy again.`,
    { retryAfterSeconds: 1 },
  );
}
