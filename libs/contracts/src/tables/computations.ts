import { IsInt, IsString } from 'class-validator';
import { JsonObject, JsonValue, ListOf, MapOf, Optional } from '../fields';
import { consumer, event } from '../operation';

/** Action of a bot that computes the code columns of its tables, since their code may use the rest of its bundle. */
export const recomputeAction = 'tablesRecomputeRows';

const maxRowBytes = 250_000;

/** Stale row with the columns that others than the tables service compute. */
export class RowToCompute {
  /** Row as the API shows it. */
  @JsonObject({ maxBytes: maxRowBytes }) row!: { id: number; [name: string]: unknown };

  /** Names of the columns to compute. */
  @IsString({ each: true }) columns!: string[];

  /** Digest of the definitions of these columns and of the values that they depend on. */
  @IsString() version!: string;
}

/** Stale rows of a table of a bot that defines `tablesRecomputeRows`. */
export class ComputationRequested {
  @IsString() botId!: string;
  @IsString() tableId!: string;

  /** Schema of the table, without code and prompts. */
  @JsonObject({ maxBytes: maxRowBytes }) schema!: Record<string, unknown>;

  @ListOf(RowToCompute) rows!: RowToCompute[];
}

export const computationRequested = event({ subject: 'tables.computationRequested', data: ComputationRequested });

export const computeRowsByBot = consumer({
  name: 'runtime.computeRowsByBot',
  event: computationRequested,
  concurrency: 4,
});

/** Stale cell of a column whose action is a workflow. */
export class WorkflowCell {
  @IsString() tableId!: string;
  @IsInt() rowId!: number;
  @IsString() column!: string;

  /** As in RowToCompute. */
  @IsString() version!: string;
}

export class WorkflowRequested extends WorkflowCell {
  @IsString() botId!: string;

  /** Name of the workflow. */
  @IsString() workflow!: string;

  /** Row as the API shows it. */
  @JsonObject({ maxBytes: maxRowBytes }) row!: Record<string, unknown>;
}

export const workflowRequested = event({ subject: 'tables.workflowRequested', data: WorkflowRequested });

export const startColumnWorkflow = consumer({
  name: 'chat.startColumnWorkflow',
  event: workflowRequested,
  concurrency: 4,
});

/** Value, or the reason why there is none. */
export class CellOutcome {
  @Optional() @JsonValue({ maxBytes: maxRowBytes }) value?: unknown;
  @Optional() @IsString() error?: string;
}

export class ComputedCells {
  @IsInt() rowId!: number;

  /** Requested columns and their version. The outcome for another version changes nothing. */
  @IsString({ each: true }) columns!: string[];

  @IsString() version!: string;

  /** By name of the column. Columns that are missing were not computed, and are still stale. */
  @MapOf(CellOutcome) cells!: Record<string, CellOutcome>;
}

/** Outcomes of requested columns. Each row to compute gets one, also without a cell. */
export class CellsComputed {
  @IsString() botId!: string;
  @IsString() tableId!: string;
  @ListOf(ComputedCells) rows!: ComputedCells[];
}

export const cellsComputedByBot = event({ subject: 'runtime.cellsComputed', data: CellsComputed });
export const cellComputedByWorkflow = event({ subject: 'chat.cellComputed', data: CellsComputed });

export const storeCellsOfBot = consumer({
  name: 'tables.storeCellsOfBot',
  event: cellsComputedByBot,
  concurrency: 4,
});
export const storeCellsOfWorkflow = consumer({
  name: 'tables.storeCellsOfWorkflow',
  event: cellComputedByWorkflow,
  concurrency: 4,
});
