import { IsArray, IsBoolean, IsInt, IsString, IsUUID, Length } from 'class-validator';
import { operators } from './access';
import { ListOf, Optional } from './fields';
import { operation } from './operation';
import { Empty } from './paging';
import { QueryString } from './query-fields';

/** Progress of the migration to the next embedding model. */
export class ReindexProgress {
  /** Absent when no next model is configured. */
  @Optional() @IsString() model?: string;

  @IsInt() total!: number;

  /** Contents without vectors of the next model. */
  @IsInt() left!: number;

  @IsBoolean() isComplete!: boolean;

  /** Passages that the next model rejected in this call; its search will not find them. The log names their files. */
  @IsInt() refused!: number;

  /** Reason for an incomplete call; `pauseMs` is the wait before the next one. */
  @Optional() @IsString() problem?: string;

  @Optional() @IsInt() pauseMs?: number;
}

export class DropFormerModels {
  /** Cursor: `after` of the previous answer; absent in the first call. */
  @Optional() @IsString() after?: string;
}

export class DroppedModels {
  @IsArray() @IsString({ each: true }) models!: string[];

  /** Cursor of the next call; absent when all is done. */
  @Optional() @IsString() after?: string;
}

/** Progress of rebuilding the words by which an older version indexed files or rows. */
export class WordsProgress {
  /** Indexed contents, or searchable tables, with words of an older version. */
  @IsInt() left!: number;
}

export class ReadOlderFiles {
  /** Name of a format, such as `PDF`, or one of its extensions. All formats when absent. */
  @Optional() @IsString() @Length(1, 100) format?: string;

  /** All bots when absent. */
  @Optional() @IsUUID() botId?: string;
}

/** Files whose content was read or refused by an older version of the reader of its format. */
export class OlderFilesProgress {
  /** Searchable files that are to be read anew. */
  @IsInt() left!: number;

  /** Files without passages that an older reader refused, and that are to be read anew. */
  @IsInt() refused!: number;

  /** Files that wait for a worker or are being read. */
  @IsInt() reading!: number;
}

export class ListOlderFiles {
  @QueryString({ maxLength: 100 }) format?: string;
  @QueryString({ maxLength: 100 }) botId?: string;
}

export class OlderFiles {
  /** Format that the file was read as, or for older files the one that its type and name say. */
  @IsString() format!: string;

  /** Reason of a refusal; absent for files that were read. */
  @Optional() @IsString() reason?: string;

  @IsInt() files!: number;
}

export class OlderFilesList {
  /** Most files first; of refusals, those with the 1,000 most frequent reasons. */
  @ListOf(OlderFiles) groups!: OlderFiles[];
}

/** Called by the command `parley reindex`. */
export const reindex = {
  advance: operation({
    subject: 'files.reindex.advance',
    route: 'POST /operator/files/reindex',
    summary: 'Adds vectors of the next embedding model to a batch of indexed contents, and returns the progress.',
    access: operators,
    input: Empty,
    output: ReindexProgress,
    timeoutMs: 60_000,
  }),
  words: operation({
    subject: 'files.reindex.words',
    route: 'POST /operator/files/reindex/words',
    summary: 'Rebuilds the words of files that an older version indexed, in the background, and returns the progress.',
    access: operators,
    input: Empty,
    output: WordsProgress,
    timeoutMs: 60_000,
  }),
  listOlder: operation({
    subject: 'files.reindex.listOlder',
    route: 'GET /operator/files/reindex/older-readers',
    summary: 'Counts the files that an older version of a reader has read or refused, by format and reason.',
    access: operators,
    input: ListOlderFiles,
    output: OlderFilesList,
    timeoutMs: 60_000,
  }),
  readOlder: operation({
    subject: 'files.reindex.readOlder',
    route: 'POST /operator/files/reindex/older-readers',
    summary:
      'Reads files anew that an older version of a reader has read or refused, in the background, and returns the progress.',
    access: operators,
    input: ReadOlderFiles,
    output: OlderFilesProgress,
    timeoutMs: 60_000,
  }),
  dropFormer: operation({
    subject: 'files.reindex.dropFormer',
    route: 'POST /operator/files/reindex/drop-former',
    summary: 'Deletes the vectors of embedding models that are no longer configured.',
    access: operators,
    input: DropFormerModels,
    output: DroppedModels,
    timeoutMs: 60_000,
  }),
};
