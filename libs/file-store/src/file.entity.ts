import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import type { AccessPolicy, File, FileStatus } from '@parley/contracts/files';

/** Which file, and whose. */
export interface FileRef {
  botId: string;
  fileId: string;
}

export interface FileRow {
  id: string;
  bot_id: string;
  key: string;
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
  content_version: string | null;
  active_version: string | null;
  created_at: Date;
  updated_at: Date;
}

export function toFile(row: FileRow, url: string): File {
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
    owner: { type: 'bot', id: row.bot_id },
    indexingStack: row.index ? 'v1' : undefined,
  };
}

/** Where the content of this version rests. */
export function blobKey(file: FileRef, contentVersion: string): string {
  return `${blobFolder(file)}/${contentVersion}`;
}

/** What all contents of the file share. */
export function blobFolder({ botId, fileId }: FileRef): string {
  return `${botId}/${fileId}`;
}
