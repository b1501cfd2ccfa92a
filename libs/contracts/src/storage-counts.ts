import { IsInt, IsString, MaxLength } from 'class-validator';
import { operator } from './access';
import { ListOf, Nested, Optional } from './fields';
import { operation } from './operation';

/** Bytes of files, and of files that are indexed. */
export class CountedStorage {
  @IsInt()
  fileBytes!: number;

  @IsInt()
  vectorBytes!: number;
}

export class ReconcileStorage {
  /** `next` of the answer before; from the first bot on when absent. */
  @Optional()
  @IsString()
  @MaxLength(100)
  after?: string;
}

export class CorrectedStorage {
  @IsString()
  botId!: string;

  @Nested(CountedStorage)
  before!: CountedStorage;

  @Nested(CountedStorage)
  after!: CountedStorage;
}

export class ReconciledStorage {
  /** Bots that were looked at. */
  @IsInt()
  checked!: number;

  /** Those whose counts were wrong. */
  @ListOf(CorrectedStorage)
  corrected!: CorrectedStorage[];

  /** Where to go on; absent once all bots were looked at. */
  @Optional()
  @IsString()
  next?: string;
}

export const storageCounts = {
  reconcile: operation({
    subject: 'files.storage.reconcile',
    route: 'POST /operator/files/storage/reconcile',
    summary: 'Counts anew what the files of some bots take, and puts right what was wrong.',
    access: operator,
    input: ReconcileStorage,
    output: ReconciledStorage,
    timeoutMs: 60_000,
  }),
};
