import { IsArray, IsBoolean, IsInt, IsString } from 'class-validator';
import { operator } from './access';
import { Optional } from './fields';
import { operation } from './operation';
import { Empty } from './paging';

/** How far the points of the next embedding model are. */
export class ReindexProgress {
  /** Absent when the configuration names no next model. */
  @Optional()
  @IsString()
  model?: string;

  /** Contents that are searchable. */
  @IsInt()
  total!: number;

  /** Those that the next model lacks. */
  @IsInt()
  left!: number;

  @IsBoolean()
  isComplete!: boolean;

  /** Passages that the next model refused this time: they will not be found by it. The log names their files. */
  @IsInt()
  refused!: number;

  /** Why less was done than could have been, and how long to wait before more is asked for. */
  @Optional()
  @IsString()
  problem?: string;

  @Optional()
  @IsInt()
  pauseMs?: number;
}

export class DropFormerModels {
  /** As the answer before had it; absent to begin. */
  @Optional()
  @IsString()
  after?: string;
}

export class DroppedModels {
  @IsArray()
  @IsString({ each: true })
  models!: string[];

  /** Where to go on; absent when all is done. */
  @Optional()
  @IsString()
  after?: string;
}

/** For the `parley reindex` command. */
export const reindex = {
  advance: operation({
    subject: 'files.reindex.advance',
    route: 'POST /operator/files/reindex',
    summary: 'Gives some of the indexed contents the vectors of the next embedding model, and says how far that is.',
    access: operator,
    input: Empty,
    output: ReindexProgress,
    timeoutMs: 60_000,
  }),
  dropFormer: operation({
    subject: 'files.reindex.dropFormer',
    route: 'POST /operator/files/reindex/drop-former',
    summary: 'Removes vectors of embedding models that are not configured any more.',
    access: operator,
    input: DropFormerModels,
    output: DroppedModels,
    timeoutMs: 60_000,
  }),
};
