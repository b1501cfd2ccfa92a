import { IsInt, IsString, MaxLength } from 'class-validator';
import { operators } from './access';
import { ListOf, Nested, Optional } from './fields';
import { operation } from './operation';

/** Bytes of all files, and of indexed files. */
export class CountedStorage {
  @IsInt() fileBytes!: number;
  @IsInt() vectorBytes!: number;
}

export class ReconcileStorage {
  /** Cursor: `next` of the previous answer; absent in the first call. */
  @Optional() @IsString() @MaxLength(100) after?: string;
}

export class CorrectedStorage {
  @IsString() botId!: string;
  @Nested(CountedStorage) before!: CountedStorage;
  @Nested(CountedStorage) after!: CountedStorage;
}

export class ReconciledStorage {
  /** Number of bots in this batch. */
  @IsInt() checked!: number;

  @ListOf(CorrectedStorage) corrected!: CorrectedStorage[];

  /** Cursor of the next call; absent when all is done. */
  @Optional() @IsString() next?: string;
}

export const storageCounts = {
  reconcile: operation({
    subject: 'files.storage.reconcile',
    route: 'POST /operator/files/storage/reconcile',
    summary: 'Recounts the storage used by the files of a batch of bots, and corrects wrong counts.',
    access: operators,
    input: ReconcileStorage,
    output: ReconciledStorage,
    timeoutMs: 60_000,
  }),
};
