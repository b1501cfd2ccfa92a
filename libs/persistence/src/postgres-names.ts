import { DefaultNamingStrategy, type Table } from 'typeorm';

/** The names that Postgres gives to constraints without a name in `CREATE TABLE`. Columns keep the names of their properties. */
export class PostgresNames extends DefaultNamingStrategy {
  override primaryKeyName(table: Table | string): string {
    return `${nameOf(table)}_pkey`;
  }

  override uniqueConstraintName(table: Table | string, columns: string[]): string {
    return `${nameOf(table)}_${columns.join('_')}_key`;
  }

  override foreignKeyName(table: Table | string, columns: string[]): string {
    return `${nameOf(table)}_${columns.join('_')}_fkey`;
  }
}

function nameOf(table: Table | string): string {
  const path = typeof table === 'string' ? table : table.name;
  return path.slice(path.lastIndexOf('.') + 1);
}
