import { isRecord } from '@parley/contracts/is-record';
import type { Row } from '@parley/contracts/tables/rows';
import type { TableColumn } from '../schema/columns';
import { type Columns, splitName } from './column-reference';

/** Fields to keep; an empty map keeps the whole value. */
type Fields = Map<string, Fields>;

const systemNames = new Set(['id', 'createdAt', 'updatedAt', 'computed', 'stale', 'similarity']);

/** Projection of rows: selected columns and fields of objects. */
export class Projection {
  private readonly fields = new Map<string, Fields>();
  readonly warnings: string[] = [];

  /** @param select names, with dots into objects; absent means everything */
  constructor(
    private readonly all: Columns,
    private readonly select?: string[],
  ) {
    select?.forEach((name) => this.add(name));
  }

  get columns(): TableColumn[] {
    const columns = [...this.all.values()];
    return this.select ? columns.filter(({ name }) => this.fields.has(name)) : columns;
  }

  /** SQL of the selected columns' data; appends its parameters to `values`. */
  dataOf(values: unknown[]): string {
    const entries = this.columns.map(({ key }) => `$${values.push(key)}::text, row.data -> $${values.length}::text`);
    return `jsonb_build_object(${entries.join(', ')})`;
  }

  apply(row: Row): Row {
    if (!this.select) return row;
    const entries = Object.entries(row).filter(([name]) => systemNames.has(name) || this.fields.has(name));
    return Object.fromEntries(entries.map(([name, value]) => [name, keep(value, this.fields.get(name))])) as Row;
  }

  private add(name: string): void {
    if (systemNames.has(name)) return;
    if (this.all.has(name)) {
      this.fields.set(name, new Map());
      return;
    }
    const inside = splitName(this.all, name);
    if (!inside) {
      this.warnings.push(`select: ${name} is not a column of this table and was ignored.`);
      return;
    }
    const { column, path } = inside;
    const known = this.fields.get(column.name);
    // The whole column is selected already.
    if (known?.size === 0) return;
    this.fields.set(column.name, withPath(known ?? new Map<string, Fields>(), path));
  }
}

function withPath(fields: Fields, [first, ...rest]: string[]): Fields {
  if (first === undefined) return new Map();
  const known = fields.get(first);
  if (known?.size === 0) return fields;
  return new Map(fields).set(first, withPath(known ?? new Map<string, Fields>(), rest));
}

function keep(value: unknown, fields?: Fields): unknown {
  if (!fields || fields.size === 0) return value;
  if (Array.isArray(value)) return value.map((entry) => keep(entry, fields));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([name]) => fields.has(name));
  return Object.fromEntries(entries.map(([name, entry]) => [name, keep(entry, fields.get(name))]));
}
