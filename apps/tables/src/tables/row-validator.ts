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
}
