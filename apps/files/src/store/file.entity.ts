import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import type { IndexingProgress } from '@parley/contracts/indexing-work';
import type { AccessPolicy, File, FileOwner, FileStatus } from '@parley/contracts/files';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index } from 'typeorm';
import type { OwnerType } from './file-scope';
import type { IndexingJobEntity } from './indexing-job.entity';

export interface FileRef {
  botId: string;
  fileId: string;
}

/** Reader of a content. */
export interface Reader {
  format: string;
  version: number;
}

/** File of a bot: its declaration, the versions of its content, and the state of its indexing. */
@Entity('file')
@Check(
  'file_status_check',
  `status IN ('upload_pending', 'upload_failed', 'upload_completed', 'indexing_pending', 'indexing_failed', 'indexing_completed')`,
)
@Check('file_owner_type_check', `owner_type IN ('bot', 'integration', 'user')`)
// Unique index on bot_id, md5(key) and namespace: TypeORM declares no expressions.
@Index('file_key', { synchronize: false })
@Index('file_created', ['bot_id', 'created_at', 'id'])
@Index('file_lapsed', ['upload_expires_at'], { where: `status = 'upload_pending'` })
@Index('file_expired', ['expires_at'], { where: 'expires_at IS NOT NULL' })
@Index('file_failed', ['updated_at', 'id'], { where: `status = 'indexing_failed'` })
@Index('file_of_integration', ['bot_id', 'namespace'], { where: `owner_type = 'integration'` })
@Index('file_of_user', ['bot_id', 'owner_id'], { where: `owner_type = 'user'` })
@Index('file_for_integrations', ['bot_id'], { where: `access_policies @> '{integrations}'` })
@Index('file_for_users', ['bot_id'], { where: `access_policies @> '{public_content}'` })
export class FileEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() bot_id!: string;
  @IdColumn() key!: string;
  @Column('text') content_type!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint') declared_size!: string;

  /** Bytes of the newest content; null until there is one. `bigint`, which arrives as text. */
  @Column('bigint', { nullable: true }) size!: string | null;

  @Column('jsonb') tags!: Record<string, string>;
  @Column('jsonb') metadata!: Record<string, unknown>;
  @Column('text', { array: true }) access_policies!: AccessPolicy[];
  @Column('boolean') index!: boolean;
  @Column('jsonb') indexing!: IndexingConfiguration;
  @Column('boolean') immediately_public!: boolean;
  @Column('text') status!: FileStatus;
  @Column('text', { nullable: true }) failed_status_reason!: string | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) expires_at!: Date | null;

  /** Declaration that an upload URL is valid for. */
  @IdColumn() upload_id!: string;

  @Column({ type: 'timestamptz', precision: 3 }) upload_expires_at!: Date;

  /** Version that is to be searchable: a new one for each upload, each set of passages and each retry. */
  @IdColumn({ nullable: true }) content_version!: string | null;

  /** Version that is searchable. */
  @IdColumn({ nullable: true }) active_version!: string | null;

  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;

  /** Namespace in which the key is unique: the alias of an installation, or '' for the bot and its users. */
  @IdColumn({ default: '' }) namespace!: string;

  @Column('text', { default: 'bot' }) owner_type!: OwnerType;

  /** Id of the integration or user. */
  @IdColumn({ nullable: true }) owner_id!: string | null;

  /** Version of the bytes. */
  @IdColumn({ nullable: true }) blob_version!: string | null;

  @Column('boolean', { default: false }) are_passages_set!: boolean;

  /** Whether the active version was made from the current content: its bytes, or the passages that were set. */
  @Column('boolean', { default: false }) is_active_current!: boolean;

  /** Format as which the current content was read or refused; null for an upload that was not read yet. */
  @Column('text', { nullable: true }) reader_format!: string | null;

  /** Version of the reader of that format; null before versions were kept, 0 while such a content is read anew. */
  @Column('integer', { nullable: true }) reader_version!: number | null;
}

/** `job` is null unless the file is being indexed. */
export interface FileWithJob extends FileEntity {
  job: Pick<IndexingJobEntity, 'stage' | 'part' | 'attempts' | 'last_error' | 'seconds_left'> | null;
}

export function toFile(row: FileEntity & Partial<FileWithJob>, url: string): File {
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

function ownerOf({ owner_type: type, owner_id, bot_id, namespace }: FileEntity): FileOwner {
  if (type === 'bot') return { type, id: bot_id };
  return { type, id: owner_id ?? undefined, alias: type === 'integration' ? namespace : undefined };
}

/** Both stacks run the same code here. */
function stackOf({ stack }: IndexingConfiguration): 'v1' | 'v2' {
  return stack === 'realtime-v1' ? 'v2' : 'v1';
}

export function progressOf(job: NonNullable<FileWithJob['job']>): IndexingProgress {
  const { stage, attempts } = job;
  return {
    stage,
    percentage: Math.min(99, Math.floor(job.part * 100)),
    secondsLeft: stage === 'announced' ? undefined : (job.seconds_left ?? undefined),
    attempts,
    lastError: job.last_error ?? undefined,
  };
}

/** Expired files are hidden from readers, though the row may still exist. */
export function isExpired({ expires_at: at }: FileEntity): boolean {
  return at !== null && at.getTime() <= Date.now();
}

export function blobOf(file: FileEntity): string {
  return blobKey({ botId: file.bot_id, fileId: file.id }, file.blob_version ?? '');
}

export function blobKey(file: FileRef, blobVersion: string): string {
  return `${blobFolder(file)}/${blobVersion}`;
}

export function blobFolder({ botId, fileId }: FileRef): string {
  return `${botId}/${fileId}`;
}
