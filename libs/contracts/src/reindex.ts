import { IsArray, IsBoolean, IsInt, IsString } from 'class-validator';
import { operators } from './access';
import { Optional } from './fields';
import { operation } from './operation';
import { Empty } from './paging';

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
