import { Column, type ColumnOptions, getMetadataArgsStorage, PrimaryColumn } from 'typeorm';

type Options = Pick<ColumnOptions, 'nullable' | 'unique' | 'default'>;

/** Column of identifiers, `text COLLATE "C"`: compared byte by byte, so that ids sort by the time of their creation. */
export function IdColumn(options: Options = {}): PropertyDecorator {
  return Column({ type: 'text', collation: 'C', ...options });
}

/** `IdColumn` that is the primary key or a part of it. */
export function PrimaryIdColumn(): PropertyDecorator {
  return PrimaryColumn({ type: 'text', collation: 'C' });
}

/** Time of a row in milliseconds, `timestamptz(3) NOT NULL DEFAULT now()`. */
export function TimestampColumn(): PropertyDecorator {
  return Column({ type: 'timestamptz', precision: 3, default: () => 'now()' });
}

/**
 * Columns of an entity for the select list of a prepared statement. With `*`, Postgres would refuse the statement on open
 * connections as soon as a migration of the next version adds a column.
 */
export function columnsOf(entity: new () => object, alias: string): string {
  const columns = getMetadataArgsStorage().filterColumns(entity);
  return columns.map(({ propertyName, options }) => `${alias}.${options.name ?? propertyName}`).join(', ');
}
