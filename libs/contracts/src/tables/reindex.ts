import { IsInt, IsUUID, Length, Max, Min } from 'class-validator';
import { operators } from '../access';
import { Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { WordsProgress } from '../reindex';

/** Row id above all possible ones. */
export const behindAllRows = 2_147_483_647;

export class RowKey {
  @Length(1, 100) tableId!: string;
  @IsInt() @Min(0) @Max(behindAllRows) rowId!: number;
}

export class ReindexRows {
  /** All bots when absent. */
  @Optional() @IsUUID() botId?: string;

  /** Cursor: `next` of the previous answer; absent in the first call. */
  @Optional() @Nested(RowKey) after?: RowKey;
}

export class ReindexedRows {
  /** Searchable tables finished in this batch. */
  @IsInt() tables!: number;

  /** Rows newly queued for indexing. */
  @IsInt() rows!: number;

  /** Cursor of the next call; absent when all is done. */
  @Optional() @Nested(RowKey) next?: RowKey;
}

/** Called by the command `parley reindex --words`. */
export const reindexWords = operation({
  subject: 'tables.reindexWords',
  route: 'POST /operator/tables/reindex/words',
  summary: 'Rebuilds the words of rows that an older version indexed, in the background, and returns the progress.',
  access: operators,
  input: Empty,
  output: WordsProgress,
  timeoutMs: 60_000,
});

/** Called by the command `parley reindex`. */
export const reindexRows = operation({
  subject: 'tables.reindex',
  route: 'POST /operator/tables/reindex',
  summary: 'Queues a batch of rows of searchable tables for indexing, whether or not they are in the passage index.',
  access: operators,
  input: ReindexRows,
  output: ReindexedRows,
  timeoutMs: 60_000,
});
