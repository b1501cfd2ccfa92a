import { createHash } from 'node:crypto';
import type { ComputedAction } from '@parley/contracts/tables/table-schema';
import { dependenciesOf, reachedFrom } from '../schema/column-dependencies';
import type { TableColumn } from '../schema/columns';
import { columnsToCompute } from '../schema/dirty-flags';
import type { CachedTable } from '../tables/table.cache';
import type { ListedStaleRow, StaleRow } from './stale-rows.repository';

/** Columns of a table that are requested from its bot: code of a bot that computes rows, and workflows. */
export class RemoteColumns {
  readonly all: TableColumn[];
  private readonly keys: Set<string>;

  constructor(
    private readonly table: CachedTable,
    botComputesRows: boolean,
  ) {
    this.all = columnsToCompute(table).filter((column) =>
      actionOf(column) === 'workflow' ? workflowOf(column) !== '' : actionOf(column) === 'code' && botComputesRows,
    );
    this.keys = new Set(this.all.map(({ key }) => key));
  }

  has({ key }: TableColumn): boolean {
    return this.keys.has(key);
  }

  /** Keys of the columns with these actions, and of those that depend on them. */
  withDependents(actions: ComputedAction[]): string[] {
    return this.all.filter((column) => actions.includes(actionOf(column))).flatMap((column) => this.reached(column));
  }

  /** For each column, itself and the columns that depend on it. */
  dependents(): Record<string, string[]> {
    return Object.fromEntries(this.all.map((column) => [column.key, this.reached(column)]));
  }

  /** Groups of columns of the row that can be requested together: they wait for no other column. */
  requestable({ stale, requested }: Pick<ListedStaleRow, 'stale' | 'requested'>): TableColumn[][] {
    const isStale = (name: string) => stale!.includes(this.table.columns.get(name)?.key ?? '');
    const code: TableColumn[] = [];
    const groups: TableColumn[][] = [];
    for (const column of this.all) {
      if (!stale!.includes(column.key) || requested.includes(column.key)) continue;
      const waitsFor = dependenciesOf(column, this.table.columns).filter(isStale);
      if (waitsFor.length === 0 && actionOf(column) === 'workflow') groups.push([column]);
      // The bot computes columns that depend on each other in one call.
      if (actionOf(column) === 'code' && waitsFor.every((name) => code.some((other) => other.name === name)))
        code.push(column);
    }
    return code.length > 0 ? [code, ...groups] : groups;
  }

  /** Digest of what the columns are computed from. Undefined while one of these values is stale itself. */
  versionOf(group: TableColumn[], { data, stale }: Pick<StaleRow, 'data' | 'stale'>): string | undefined {
    const own = new Set(group.map(({ name }) => name));
    const sources = [...new Set(group.flatMap((column) => dependenciesOf(column, this.table.columns)))]
      .filter((name) => !own.has(name))
      .map((name) => this.table.columns.get(name)!.key)
      .toSorted();
    if (sources.some((key) => stale?.includes(key))) return undefined;
    const definitions = group.map(({ key, name, schema }) => [key, name, schema['x-zui'].computed]);
    const values = sources.map((key) => [key, data[key] ?? null]);
    return createHash('sha256')
      .update(JSON.stringify([definitions, values]))
      .digest('base64url');
  }

  private reached(column: TableColumn): string[] {
    const { columns } = this.table;
    const dependents = reachedFrom([column.name], columnsToCompute(this.table), (other) =>
      dependenciesOf(other, columns),
    );
    return [column.key, ...[...dependents].map(({ key }) => key)];
  }
}

/** Name of the workflow. */
export function workflowOf({ schema }: TableColumn): string {
  return schema['x-zui'].computed!.workflowId ?? '';
}

export function actionOf({ schema }: TableColumn): ComputedAction {
  return schema['x-zui'].computed!.action;
}
