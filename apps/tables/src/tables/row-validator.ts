import { rowBytesPerFactor } from '@parley/contracts/tables/table-definition';
import Ajv, { type ValidateFunction } from 'ajv';
import { ajvOptions } from '@parley/json-schema/schema-problem';
import { type Column, columnsOf, type TableRow } from './table.entity';

/** A row as it came, found fit: its data by column key. */
export interface CheckedRow {
  data: Record<string, unknown>;
  /** Columns that were left out, as sentences without the row. */
  warnings: string[];
}

/** Checks rows against the schema of one version of a table. */
export class RowValidator {
  private readonly columns: Map<string, Column>;
  private readonly validate: ValidateFunction;
  private readonly maxBytes: number;

  constructor(table: Pick<TableRow, 'number' | 'schema' | 'factor'>) {
    this.columns = columnsOf(table);
    this.validate = new Ajv({ ...ajvOptions, validateSchema: false }).compile(table.schema);
    this.maxBytes = table.factor * rowBytesPerFactor;
  }

  /** The row to insert, or the sentence that says what keeps it out. */
  checkNew(row: Record<string, unknown>): CheckedRow | string {
    if (!this.validate(row)) return `${this.validate.errors?.[0]?.instancePath} ${this.validate.errors?.[0]?.message}`;
    if (Buffer.byteLength(JSON.stringify(row)) > this.maxBytes) return `it must be at most ${this.maxBytes} bytes`;
    const data: Record<string, unknown> = {};
    const warnings: string[] = [];
    for (const [name, value] of Object.entries(row)) {
      const column = this.columns.get(name);
      if (!column) warnings.push(`${name} is no column of this table and was left out`);
      else if (value !== null && value !== undefined) data[column.key] = value;
    }
    return { data, warnings };
  }

  /**
   * The columns to change, with null for those to be emptied, or the sentence that says what keeps them out. System
   * fields are left out with a warning, but `id`, which names the row, without one.
   */
  checkChange(row: Record<string, unknown>): CheckedRow | string {
    const given = Object.entries(row).filter(([name]) => !systemFields.has(name));
    const ignored = Object.keys(row).filter((name) => systemFields.has(name) && name !== 'id');
    const nulls = given.filter(([, value]) => value === null);
    const checked = this.checkNew(Object.fromEntries(given.filter(([, value]) => value !== null)));
    if (typeof checked === 'string') return checked;
    for (const [name] of nulls) checked.data[this.columns.get(name)?.key ?? ''] = null;
    if (ignored.length > 0) checked.warnings.push(`${ignored.join(' and ')} are set by the platform and were left out`);
    return checked;
  }

  /** Why a whole row cannot be stored in the table; undefined when it can. */
  wholeProblem(data: Record<string, unknown>): string | undefined {
    if (Buffer.byteLength(JSON.stringify(data)) > this.maxBytes) return `it must be at most ${this.maxBytes} bytes`;
    return undefined;
  }
}

const systemFields = new Set(['id', 'createdAt', 'updatedAt', 'computed', 'stale', 'similarity']);
