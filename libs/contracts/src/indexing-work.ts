import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsIn, IsInt, IsString, Length } from 'class-validator';
import { operator } from './access';
import { ListOf, Nested, Optional } from './fields';
import { operation } from './operation';
import { PageMeta, PageQuery } from './paging';
import { QueryInteger, QueryString } from './query-fields';

/** How far a worker has come with a content. */
export const indexingStages = ['announced', 'taken', 'parsed', 'embedding', 'written', 'switching'] as const;
export type IndexingStage = (typeof indexingStages)[number];

/** How far the indexing of a file is that is `indexing_pending`. */
export class IndexingProgress {
  @IsIn(indexingStages)
  stage!: IndexingStage;

  /** From 0 to 100, of the document that has been read and embedded. */
  @IsInt()
  percentage!: number;

  /** How often a worker has begun. */
  @IsInt()
  attempts!: number;

  /** Why the attempt before this one ended. */
  @Optional()
  @IsString()
  lastError?: string;
}

export class ListStuckFiles extends PageQuery {
  /** How long a file must have waited to count as stuck: ten minutes when absent. */
  @QueryInteger({ min: 0, max: 1_000_000 })
  olderThanMinutes?: number;
}

export class StuckFile extends IndexingProgress {
  @IsString()
  fileId!: string;

  @IsString()
  key!: string;

  @IsString()
  botId!: string;

  /** Since the content came. */
  @IsInt()
  ageSeconds!: number;
}

export class StuckFiles {
  @ListOf(StuckFile)
  files!: StuckFile[];

  @Nested(PageMeta)
  meta!: PageMeta;
}

export class ListFailedFiles extends PageQuery {
  @QueryString()
  botId?: string;
}

export class FailedFile {
  @IsString()
  fileId!: string;

  @IsString()
  key!: string;

  @IsString()
  botId!: string;

  @IsString()
  reason!: string;

  @IsString()
  failedAt!: string;
}

export class FailedFiles {
  @ListOf(FailedFile)
  files!: FailedFile[];

  @Nested(PageMeta)
  meta!: PageMeta;
}

/** Most files of one call. */
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
  @IsString()
  fileId!: string;

  @IsString()
  reason!: string;
}

export class RetriedFiles {
  /** Ids of the files that are indexed again. */
  @IsArray()
  @IsString({ each: true })
  retried!: string[];

  /** The others, and why. */
  @ListOf(RefusedFile)
  refused!: RefusedFile[];
}

/** What is being indexed, as whoever runs the platform sees it. */
export const indexingWork = {
  listStuck: operation({
    subject: 'files.indexing.listStuck',
    route: 'GET /operator/files/stuck',
    summary: 'Lists files whose indexing takes long or did not succeed at once, oldest first.',
    access: operator,
    input: ListStuckFiles,
    output: StuckFiles,
  }),
  listFailed: operation({
    subject: 'files.indexing.listFailed',
    route: 'GET /operator/files/failed',
    summary: 'Lists files that could not be indexed and why, newest first.',
    access: operator,
    input: ListFailedFiles,
    output: FailedFiles,
  }),
  retry: operation({
    subject: 'files.indexing.retry',
    route: 'POST /operator/files/retry',
    summary: 'Indexes files again, from the content or the passages that they hold.',
    access: operator,
    input: RetryFiles,
    output: RetriedFiles,
    timeoutMs: 60_000,
  }),
};
