import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import type { AccessPolicy, File, FileOwner, FileStatus } from '@parley/contracts/files';
import type { IndexingStage } from '@parley/contracts/indexing-work';
import type { OwnerType } from './file-scope';

export interface FileRef {
  botId: string;
  fileId: string;
}

export interface FileRow {
  id: string;
  bot_id: string;
  namespace: string;
  key: string;
  owner_type: OwnerType;
  owner_id: string | null;
  content_type: string;
  /** `bigint`, which arrives as text; so does `size`. */
  declared_size: string;
  size: string | null;
  tags: Record<string, string>;
  metadata: Record<string, unknown>;
  access_policies: AccessPolicy[];
  index: boolean;
  indexing: IndexingConfiguration;
  immediately_public: boolean;
  status: FileStatus;
  failed_status_reason: string | null;
  expires_at: Date | null;
  upload_id: string;
  upload_expires_at: Date;
  blob_version: string | null;
  /** Version that is to be searchable: a new one for each upload, each set of passages and each retry. */
  content_version: string | null;
  /** Version that is searchable. */
  active_version: string | null;
  /** Whether the active version was made from the current content: its bytes, or the passages that were set. */
  is_active_current: boolean;
  are_passages_set: boolean;
  created_at: Date;
  updated_at: Date;
}

/** `job` is null unless the file is being indexed. */
export interface FileWithJob extends FileRow {
  job: { stage: IndexingStage; part: number; attempts: number; last_error: string | null } | null;
}

export function toFile(row: FileRow & Partial<FileWithJob>, url: string): File {
  return {
    id: row.id,
    botId: row.bot_id,
    key: row.key,
    url,
    size: row.size === null ? null : Number(row.size),
    contentType: row.content_type,
    tags: row.tags,
    metadata: row.metadata,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    accessPolicies: row.access_policies,
    index: row.index,
    status: row.status,
    failedStatusReason: row.failed_status_reason ?? undefined,
    expiresAt: row.expires_at?.toISOString(),
    owner: ownerOf(row),
    indexingStack: row.index ? stackOf(row.indexing) : undefined,
    indexing: row.job ? progressOf(row.job) : undefined,
  };
}

function ownerOf({ owner_type: type, owner_id, bot_id, namespace }: FileRow): FileOwner {
  if (type === 'bot') return { type, id: bot_id };
  return { type, id: owner_id ?? undefined, alias: type === 'integration' ? namespace : undefined };
}

/** Both stacks run the same code here. */
function stackOf({ stack }: IndexingConfiguration): 'v1' | 'v2' {
  return stack === 'realtime-v1' ? 'v2' : 'v1';
}

function progressOf({ stage, part, attempts, last_error }: NonNullable<FileWithJob['job']>) {
  return { stage, percentage: Math.floor(part * 100), attempts, lastError: last_error ?? undefined };
}

/** Expired files are hidden from readers, though the row may still exist. */
export function isExpired({ expires_at: at }: FileRow): boolean {
  return at !== null && at.getTime() <= Date.now();
}

export function blobOf(file: FileRow): string {
  return blobKey({ botId: file.bot_id, fileId: file.id }, file.blob_version ?? '');
}

export function blobKey(file: FileRef, blobVersion: string): string {
  return `${blobFolder(file)}/${blobVersion}`;
}

export function blobFolder({ botId, fileId }: FileRef): string {
  return `${botId}/${fileId}`;
}
