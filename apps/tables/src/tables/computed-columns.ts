import type { Column } from './table.entity';

type NamedColumn = Pick<Column, 'name' | 'schema'>;

/** The columns that the platform computes, those that need others behind them, and those of a circle as it comes. */
export function computedColumns<C extends NamedColumn>(columns: ReadonlyMap<string, C>): C[] {
  const ordered = new Set<C>();
  const visited = new Set<C>();
  const visit = (column: C | undefined) => {
    if (!column || !isComputed(column) || visited.has(column)) return;
    visited.add(column);
    dependenciesOf(column, columns).forEach((name) => visit(columns.get(name)));
    ordered.add(column);
  };
  for (const column of columns.values()) visit(column);
  return [...ordered];
}

/** Names of the columns that a computed one is computed from. Who names none has all that nobody computes. */
export function dependenciesOf({ schema }: NamedColumn, columns: ReadonlyMap<string, NamedColumn>): string[] {
  const named = schema['x-zui'].computed?.dependencies ?? [];
  if (named.length > 0) return named.filter((name) => columns.has(name));
  return [...columns.values()].filter((column) => !column.schema['x-zui'].computed).map(({ name }) => name);
}

/** Those of the computed columns that get other values with the named ones, directly or by way of each other. */
export function reachedFrom<C extends NamedColumn>(
  names: Iterable<string>,
  computed: readonly C[],
  sourcesOf: (column: C) => string[],
): Set<C> {
  const changed = new Set(names);
  const reached = new Set<C>();
  for (let before = -1; before < reached.size;) {
    before = reached.size;
    for (const column of computed) {
      if (reached.has(column) || !sourcesOf(column).some((name) => changed.has(name))) continue;
      reached.add(column);
      changed.add(column.name);
    }
  }
  return reached;
}

function isComputed({ schema }: NamedColumn): boolean {
  const { computed } = schema['x-zui'];
  return computed !== undefined && computed.enabled !== false;
}
