import { Injectable } from '@nestjs/common';
import type { CallerQuotas } from '@parley/contracts/caller';
import { ApiError, forbiddenHeader } from '@parley/contracts/errors';
import { maxIndexedBytes } from '@parley/contracts/files';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { type FileEntity, isExpired } from '../store/file.entity';
import { type FileScope, owns } from '../store/file-scope';
import { type FileDeclaration, FilesRepository, type Room } from '../store/files.repository';
import { type StorageUse, StorageUseRepository } from '../store/storage-use.repository';
import { FilesConfig } from '../config';
import { ContentUrlsService } from '../content/content-urls.service';
import type { StorageTarget } from './storage-target';

export type Declaration = Omit<FileDeclaration, 'id' | 'workspaceId' | 'uploadExpiresAt'> & { id?: string };

/**
 * Declarations of at most this part of a quota need only the shared workspace lock while a tenth of the quota is left:
 * only a hundred of them at the same moment could use that up.
 */
const smallPart = 1 / 1000;
const unlockedPart = 0.9;

/**
 * Declares files within the storage quotas of their workspace. Declared bytes are reserved until they are uploaded or
 * the upload URL expires.
 */
@Injectable()
export class DeclarationsService {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly use: StorageUseRepository,
    private readonly urls: ContentUrlsService,
    private readonly config: FilesConfig,
  ) {}

  /**
   * Throws LimitExceeded, QuotaExceeded, AlreadyExists for the key of another owner, or Forbidden for a deleted bot.
   */
  async declare(target: StorageTarget, declaration: Declaration): Promise<FileEntity> {
    this.check(declaration);
    const row = await this.insert(this.database, target, declaration, roomWithoutLock(target, declaration));
    return row ?? this.database.transaction((tx) => this.declareExclusively(tx, target, declaration));
  }

  /** Declares under the exclusive workspace lock: other declarations of the workspace wait until the transaction ends. */
  async declareExclusively(tx: Transaction, target: StorageTarget, declaration: Declaration): Promise<FileEntity> {
    this.check(declaration);
    const { scope, workspaceId, quotas } = target;
    await this.use.lockWorkspace(tx, workspaceId);
    const before = await this.use.getUseOfWorkspace(tx, workspaceId);
    const row = await this.insert(tx, target, declaration, unlimited);
    if (!row) throw await this.refusal(tx, scope, declaration);
    // This sum includes the new file, and no longer the one that it replaces.
    if (quotas) checkSums(declaration, quotas, before, await this.use.getUseOfWorkspace(tx, workspaceId));
    return row;
  }

  /**
   * Early check without locks, before expensive work. Returns the file that has the key now; throws most errors of
   * `declare`.
   */
  async refuseEarly(
    { scope, workspaceId, quotas }: StorageTarget,
    declaration: Declaration,
  ): Promise<FileEntity | undefined> {
    this.check(declaration);
    const former = await this.files.findByKey(this.database, scope, declaration.key);
    if (former && !mayReplace(scope, former, declaration)) throw keyTaken(scope, former);
    if (quotas) {
      const used = await this.use.getUseOfWorkspace(this.database, workspaceId);
      const { size, index } = declaration;
      const freed = former && former.status !== 'upload_failed' ? Number(former.size ?? former.declared_size) : 0;
      const more = { fileBytes: size - freed, vectorBytes: (index ? size : 0) - (former?.index ? freed : 0) };
      checkSums(declaration, quotas, used, {
        fileBytes: used.fileBytes + more.fileBytes,
        vectorBytes: used.vectorBytes + more.vectorBytes,
      });
    }
    return former;
  }

  private async refusal(tx: Transaction, scope: FileScope, declaration: Declaration): Promise<ApiError> {
    const former = await this.files.findByKey(tx, scope, declaration.key);
    if (former && !mayReplace(scope, former, declaration)) return keyTaken(scope, former);
    return forbiddenHeader('x-bot-id', scope.botId);
  }

  private insert(sql: Sql, { scope, workspaceId }: StorageTarget, declaration: Declaration, room: Room) {
    const uploadExpiresAt = this.urls.uploadExpiry();
    return this.files.insertOrReplaceDeclared(
      sql,
      scope,
      { id: newId('file'), ...declaration, workspaceId, uploadExpiresAt },
      room,
    );
  }

  private check({ size, index }: Declaration): void {
    if (index && size > maxIndexedBytes) {
      throw new ApiError('LimitExceeded', `size must be at most ${maxIndexedBytes} bytes for a file with index: true.`);
    }
    const { maxUploadBytes } = this.config;
    if (size > maxUploadBytes) throw new ApiError('LimitExceeded', `size must be at most ${maxUploadBytes} bytes.`);
  }
}

const unlimited: Room = { fileBytes: null, vectorBytes: null };

function roomWithoutLock({ quotas }: StorageTarget, { size }: Declaration): Room {
  if (!quotas) return unlimited;
  const room = (quota: number) => (size <= quota * smallPart ? Math.floor(quota * unlockedPart) : -1);
  return { fileBytes: room(quotas.storage_count), vectorBytes: room(quotas.knowledgebase_vector_storage) };
}

/** Accepts a declaration that does not increase the usage, even where the quota was lowered. */
function checkSums({ size }: Declaration, quotas: CallerQuotas, before: StorageUse, now: StorageUse): void {
  if (now.fileBytes > Math.max(quotas.storage_count, before.fileBytes))
    throw exceeded('store', 'storage_count', quotas.storage_count, now.fileBytes - size, size);
  if (now.vectorBytes > Math.max(quotas.knowledgebase_vector_storage, before.vectorBytes)) {
    const quota = quotas.knowledgebase_vector_storage;
    throw exceeded('index', 'knowledgebase_vector_storage', quota, now.vectorBytes - size, size);
  }
}

function exceeded(verb: string, type: keyof CallerQuotas, quota: number, used: number, size: number): ApiError {
  return new ApiError(
    'QuotaExceeded',
    `Quota exceeded: the workspace may ${verb} ${quota} bytes of files (${type}). It uses ${used}, and this file has ${size}. Delete files, or ask the operator for a larger quota.`,
  );
}

function mayReplace(scope: FileScope, former: FileEntity, { replaces }: Declaration): boolean {
  return isExpired(former) || (replaces && owns(scope, former));
}

function keyTaken(scope: FileScope, former: FileEntity): ApiError {
  const advice = owns(scope, former) ? 'Set overwrite to replace it, or choose' : 'It belongs to another owner: choose';
  return new ApiError('AlreadyExists', `A file with the key "${former.key}" already exists. ${advice} another key.`);
}
