import type { TableColumn } from './columns';

type NamedColumn = Pick<TableColumn, 'name' | 'schema'>;

/** Enabled computed columns in dependency order. Columns of a cycle are in no particular order. */
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

/** Names of the columns that a computed column depends on. Default: all columns that are not computed. */
export function dependenciesOf({ schema }: NamedColumn, columns: ReadonlyMap<string, NamedColumn>): string[] {
  const named = schema['x-zui'].computed?.dependencies ?? [];
  if (named.length > 0) return named.filter((name) => columns.has(name));
  return [...columns.values()].filter((column) => !column.schema['x-zui'].computed).map(({ name }) => name);
}

/** Transitive closure: the computed columns that depend on the named columns, directly or indirectly. */
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
