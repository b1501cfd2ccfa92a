import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsIn, IsInt, IsString, Length } from 'class-validator';
import { operators } from './access';
import { ListOf, Nested, Optional } from './fields';
import { operation } from './operation';
import { PageMeta, PageQuery } from './paging';
import { QueryInteger, QueryString } from './query-fields';

/**
 * Progress of a worker with one content, in order: waiting, reading, cutting into passages, embedding and writing, all
 * written, becoming searchable.
 */
export const indexingStages = ['announced', 'taken', 'parsed', 'embedding', 'written', 'switching'] as const;
export type IndexingStage = (typeof indexingStages)[number];

/** Progress of indexing. */
export class IndexingProgress {
  @IsIn(indexingStages) stage!: IndexingStage;

  /** Share of the work that is done, from 0 to 99. It never decreases within an attempt. */
  @IsInt() percentage!: number;

  /** Estimate for the rest of the stage, from the speed of this attempt. Absent until that is measured. */
  @Optional() @IsInt() secondsLeft?: number;

  /** Number of attempts started by workers. */
  @IsInt() attempts!: number;

  @Optional() @IsString() lastError?: string;
}

/** Progress of a file with the status `indexing_pending`. */
export class FileProgress extends IndexingProgress {
  /** While it waits: its place among the waiting files of the bot, from 1 to 1,001. Absent in lists. */
  @Optional() @IsInt() placeInLine?: number;
}

export class ListStuckFiles extends PageQuery {
  /** Minimum age of a stuck file. Default: ten minutes. */
  @QueryInteger({ min: 0, max: 1_000_000 }) olderThanMinutes?: number;
}

export class StuckFile extends IndexingProgress {
  @IsString() fileId!: string;
  @IsString() key!: string;
  @IsString() botId!: string;

  /** Seconds since the upload of the content. */
  @IsInt() ageSeconds!: number;
}

export class StuckFiles {
  @ListOf(StuckFile) files!: StuckFile[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class ListFailedFiles extends PageQuery {
  @QueryString() botId?: string;
}

export class FailedFile {
  @IsString() fileId!: string;
  @IsString() key!: string;
  @IsString() botId!: string;
  @IsString() reason!: string;
  @IsString() failedAt!: string;
}

export class FailedFiles {
  @ListOf(FailedFile) files!: FailedFile[];
  @Nested(PageMeta) meta!: PageMeta;
}

export const maxRetriedFiles = 200;

export class RetryFiles {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(maxRetriedFiles)
  @ArrayUnique()
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  fileIds!: string[];
}

export class RefusedFile {
  @IsString() fileId!: string;
  @IsString() reason!: string;
}

export class RetriedFiles {
  /** Ids of the files that are indexed again. */
  @IsArray() @IsString({ each: true }) retried!: string[];

  /** Files that are not indexed again, with the reason. */
  @ListOf(RefusedFile) refused!: RefusedFile[];
}

/** Indexing jobs, for the operator. */
export const indexingWork = {
  listStuck: operation({
    subject: 'files.indexing.listStuck',
    route: 'GET /operator/files/stuck',
    summary: 'Lists files whose indexing is slow or has failed at least once, oldest first.',
    access: operators,
    input: ListStuckFiles,
    output: StuckFiles,
  }),
  listFailed: operation({
    subject: 'files.indexing.listFailed',
    route: 'GET /operator/files/failed',
    summary: 'Lists the files with the status `indexing_failed` and the reason, newest first.',
    access: operators,
    input: ListFailedFiles,
    output: FailedFiles,
  }),
  retry: operation({
    subject: 'files.indexing.retry',
    route: 'POST /operator/files/retry',
    summary: 'Indexes files again, from their stored content or passages.',
    access: operators,
    input: RetryFiles,
    output: RetriedFiles,
    timeoutMs: 60_000,
  }),
};
