import {
  ArrayMaxSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsString,
  Length,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { bot, operator, service } from './access';
import { deadLetterOperations } from './dead-letters';
import { JsonObject, ListOf, MapOf, Nested, Nullable, Optional } from './fields';
import { IndexingOptions } from './indexing-options';
import { IsMediaType } from './media-type';
import { FileProgress, indexingWork } from './indexing-work';
import { knowledgeBases } from './knowledge-bases';
import { consumer, event, operation } from './operation';
import { Empty, PageMeta, PageQuery } from './paging';
import { FoundPassages, SearchFiles } from './passage-search';
import { ListFilePassages, maxPassagesBytes, Passages, SetFilePassages } from './passages';
import { HeaderText, PathParam, QueryBoolean, QueryChoice, QueryList, QueryTags, type TagQuery } from './query-fields';
import { storageCounts } from './storage-counts';
import { reindex } from './reindex';
import { visitorFiles } from './visitor-files';
import { workAdded, workOperations } from './work';

export const fileStatuses = [
  'upload_pending',
  'upload_failed',
  'upload_completed',
  'indexing_pending',
  'indexing_failed',
  'indexing_completed',
] as const;
export type FileStatus = (typeof fileStatuses)[number];

export const accessPolicies = ['public_content', 'integrations'] as const;
export type AccessPolicy = (typeof accessPolicies)[number];

/** Largest indexed file, in bytes. */
export const maxIndexedBytes = 95 * 1024 * 1024;

/** Characters. */
export const maxKeyLength = 1000;

export const maxTags = 100;

export const tagName = /^.{0,200}$/s;

/** Longest time to the expiry of a file, in days. */
export const maxLifetimeDays = 90;

/** Bytes of JSON. */
export const maxMetadataBytes = 128 * 1024;

/** Creates a file or replaces the file with this key. The client then sends the content by HTTP PUT to `uploadUrl`. */
export class UpsertFile {
  /** Unique within the bot; for a request of an integration, within that integration. */
  @IsString() @Length(1, maxKeyLength) key!: string;

  /** Bytes of the content to be uploaded. */
  @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) size!: number;

  @Optional() @MapOf(String, { maxLength: 1000, maxEntries: maxTags, key: tagName }) tags?: Record<string, string>;

  /** Indexes the content for search. Its passages are available once the status is `indexing_completed`. */
  @Optional() @IsBoolean() index?: boolean;

  @Optional() @Nested(IndexingOptions) indexing?: IndexingOptions;

  @Optional()
  @IsArray()
  @ArrayUnique()
  @ArrayMaxSize(accessPolicies.length)
  @IsIn(accessPolicies, { each: true })
  accessPolicies?: AccessPolicy[];

  /** Media type. Derived from the extension of the key when absent. */
  @Optional() @IsString() @Length(1, 255) @IsMediaType() contentType?: string;

  /** In the future, at most 90 days from now. Seconds are ignored. */
  @Optional() @IsISO8601({ strict: true, strictSeparator: true }) @MaxLength(40) expiresAt?: string;

  @Optional() @IsBoolean() publicContentImmediatelyAccessible?: boolean;
  @Optional() @JsonObject({ maxBytes: maxMetadataBytes }) metadata?: Record<string, unknown>;
}

/** Bytes of a file whose content comes with its declaration. */
export const maxStoredBytes = 20_000_000;

/** A public file together with its content. */
export class StoreFile {
  @IsString() @Length(1, maxKeyLength) key!: string;
  @IsString() @Length(1, 255) @IsMediaType() contentType!: string;

  /** Base64, of at most 20 MB. */
  @IsString() content!: string;

  @MapOf(String) tags!: Record<string, string>;
  @IsInt() @Min(1) @Max(maxLifetimeDays) expirationDays!: number;
}

export class FileOwner {
  @IsIn(['user', 'bot', 'integration']) type!: 'user' | 'bot' | 'integration';
  @Optional() @IsString() id?: string;
  @Optional() @IsString() name?: string;
  @Optional() @IsString() alias?: string;
}

export class File {
  @IsString() id!: string;
  @IsString() botId!: string;
  @IsString() key!: string;

  /** URL of the content: permanent with `public_content`, otherwise signed and valid for 15 minutes. */
  @IsString() url!: string;

  /** Bytes; null until the content has been uploaded. */
  @Nullable() @IsInt() size!: number | null;

  @IsString() contentType!: string;
  @MapOf(String) tags!: Record<string, string>;
  @JsonObject() metadata!: Record<string, unknown>;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
  @IsArray() @IsIn(accessPolicies, { each: true }) accessPolicies!: AccessPolicy[];
  @IsBoolean() index!: boolean;
  @IsIn(fileStatuses) status!: FileStatus;

  /** Reason why the last upload or indexing failed, and a remedy. With `indexing_completed`: why only plain text is indexed. */
  @Optional() @IsString() failedStatusReason?: string;

  @Optional() @IsString() expiresAt?: string;
  @Nested(FileOwner) owner!: FileOwner;
  @Optional() @IsIn(['v1', 'v2']) indexingStack?: 'v1' | 'v2';
  @Optional() @Nested(FileProgress) indexing?: FileProgress;
}

export class UploadableFile extends File {
  /** Signed URL that accepts the content by HTTP PUT without further credentials, for one hour. */
  @IsString() uploadUrl!: string;
}

export class UpsertedFile {
  @Nested(UploadableFile) file!: UploadableFile;
}

export class FileReply {
  @Nested(File) file!: File;
}

/** UTF-16 code units: a character may take two. */
const idOrKey = { maxLength: 2 * maxKeyLength };

export class FileId {
  /** Id or key of the file. */
  @PathParam(idOrKey) id!: string;
}

/** Absent fields stay unchanged. In `tags` and `metadata`, an entry replaces the one of its name, and `null` removes it. */
export class UpdateFile extends FileId {
  @Optional()
  @MapOf(String, { nullable: true, maxLength: 1000, maxEntries: 2 * maxTags })
  tags?: Record<string, string | null>;

  @Optional() @JsonObject({ maxBytes: maxMetadataBytes }) metadata?: Record<string, unknown>;

  /** Replaces all previous policies. */
  @Optional()
  @IsArray()
  @ArrayUnique()
  @ArrayMaxSize(accessPolicies.length)
  @IsIn(accessPolicies, { each: true })
  accessPolicies?: AccessPolicy[];

  /** In the future, at most 90 days from now. Seconds are ignored. `null` removes the expiry. */
  @Nullable() @IsISO8601({ strict: true, strictSeparator: true }) @MaxLength(40) expiresAt?: string | null;
}

export class ListFiles extends PageQuery {
  @QueryChoice(['createdAt', 'updatedAt', 'key', 'size', 'status'])
  sortField?: 'createdAt' | 'updatedAt' | 'key' | 'size' | 'status';

  @QueryChoice(['asc', 'desc']) sortDirection?: 'asc' | 'desc';
  @QueryTags() tags?: TagQuery;
  @QueryList({ maxItems: 50 }) ids?: string[];

  /** Filter: files with searchable passages (true) or without (false). */
  @QueryBoolean() indexed?: boolean;
}

export class Files {
  @ListOf(File) files!: File[];
  @Nested(PageMeta) meta!: PageMeta;
}

/** Copies a file; the blob store copies the bytes. The copy of an indexed file is indexed anew. */
export class CopyFile {
  @PathParam(idOrKey) idOrKey!: string;
  @PathParam(idOrKey) destinationKey!: string;

  /** Another bot that the caller may write to. */
  @HeaderText('x-destination-bot-id') destinationBotId?: string;

  /** Replaces an existing file with the destination key. Without it, such a file is an AlreadyExists error. */
  @Optional() @IsBoolean() overwrite?: boolean;
}

export class FileTags {
  @IsArray() @IsString({ each: true }) tags!: string[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class ListFileTagValues extends PageQuery {
  @PathParam() tag!: string;
}

export class FileTagValues {
  @IsArray() @IsString({ each: true }) values!: string[];
  @Nested(PageMeta) meta!: PageMeta;
}

/** This version of the content has been uploaded and is ready for indexing. */
export class FileUploaded {
  @IsString() botId!: string;
  @IsString() fileId!: string;
  @IsString() contentVersion!: string;
}

export const fileUploaded = event({ subject: 'files.uploaded', data: FileUploaded });

export const indexFile = consumer({
  name: 'files-worker.index',
  event: fileUploaded,
  concurrency: 2,
  maxDeliveries: 100,
});

export class CountLeftovers {
  @PathParam() botId!: string;
}

/** Data that the files service holds of a bot; all zero after the erasure of a deleted bot. */
export class Leftovers {
  @IsInt() files!: number;
  @IsInt() passages!: number;
  @IsInt() blobs!: number;
  @IsInt() points!: number;
}

export const filesWorkAdded = workAdded('files');

export const files = {
  upsert: operation({
    subject: 'files.upsert',
    route: 'PUT /v1/files',
    summary: 'Creates a file or replaces the one with this key.',
    access: bot.writeAlsoByIntegration,
    input: UpsertFile,
    output: UpsertedFile,
  }),
  store: operation({
    subject: 'files.store',
    summary: 'Creates a public file of the bot of the caller with its content: all of it, or nothing.',
    access: service,
    input: StoreFile,
    output: FileReply,
    timeoutMs: 30_000,
  }),
  get: operation({
    subject: 'files.get',
    route: 'GET /v1/files/{id}',
    summary: 'Gets a file by its id or key.',
    access: bot.readAlsoByIntegration,
    input: FileId,
    output: FileReply,
  }),
  list: operation({
    subject: 'files.list',
    route: 'GET /v1/files',
    summary: 'Lists the files of the bot, newest first unless sorted otherwise.',
    access: bot.readAlsoByIntegration,
    input: ListFiles,
    output: Files,
  }),
  update: operation({
    subject: 'files.update',
    route: 'PUT /v1/files/{id}',
    summary:
      'Updates the tags, the metadata, the access policies or the expiry of a file. Absent fields stay unchanged.',
    access: bot.writeAlsoByIntegration,
    input: UpdateFile,
    output: FileReply,
  }),
  delete: operation({
    subject: 'files.delete',
    route: 'DELETE /v1/files/{id}',
    summary: 'Deletes a file with its content and passages.',
    access: bot.writeAlsoByIntegration,
    input: FileId,
    output: Empty,
  }),
  copy: operation({
    subject: 'files.copy',
    route: 'POST /v1/files/{idOrKey}/{destinationKey}',
    summary: 'Copies a file with its content, tags and metadata, also to another bot.',
    access: bot.writeAlsoByIntegration,
    input: CopyFile,
    otherBotField: 'destinationBotId',
    output: FileReply,
    timeoutMs: 30_000,
    isIdempotent: true,
  }),
  search: operation({
    subject: 'files.search',
    route: 'GET /v1/files/search',
    summary: 'Searches passages by meaning and by keywords, best match first.',
    access: bot.readAlsoByIntegration,
    input: SearchFiles,
    output: FoundPassages,
  }),
  listTags: operation({
    subject: 'files.listTags',
    route: 'GET /v1/files/tags',
    summary: 'Lists the tag names in use, in alphabetical order.',
    access: bot.readAlsoByIntegration,
    input: PageQuery,
    output: FileTags,
  }),
  listTagValues: operation({
    subject: 'files.listTagValues',
    route: 'GET /v1/files/tags/{tag}/values',
    summary: 'Lists the values in use of a tag, in alphabetical order.',
    access: bot.readAlsoByIntegration,
    input: ListFileTagValues,
    output: FileTagValues,
  }),
  knowledgeBases,
  setPassages: operation({
    subject: 'files.setPassages',
    route: 'PUT /v1/files/{id}/passages',
    summary: 'Replaces the passages of a file by the given ones.',
    access: bot.writeAlsoByIntegration,
    input: SetFilePassages,
    output: Empty,
    bodyLimitBytes: maxPassagesBytes,
  }),
  listPassages: operation({
    subject: 'files.listPassages',
    route: 'GET /v1/files/{id}/passages',
    summary: 'Lists the passages of an indexed file, in document order.',
    access: bot.readAlsoByIntegration,
    input: ListFilePassages,
    output: Passages,
  }),
  indexAgain: operation({
    subject: 'files.indexAgain',
    route: 'PUT /v1/files/{id}/indexing',
    summary: 'Indexes a file again, from its stored content or passages, unless it is being indexed.',
    access: bot.write,
    isOwn: true,
    input: FileId,
    output: Empty,
  }),
  countLeftovers: operation({
    subject: 'files.countLeftovers',
    route: 'GET /operator/files/bots/{botId}/leftovers',
    summary: 'Counts the data that the files service holds of a bot.',
    access: operator,
    input: CountLeftovers,
    output: Leftovers,
  }),
  visitorFiles,
  indexing: indexingWork,
  storage: storageCounts,
  reindex,
  deadLetters: deadLetterOperations('files'),
  work: workOperations('files'),
};
