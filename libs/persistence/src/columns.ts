import { Column, type ColumnOptions, PrimaryColumn } from 'typeorm';

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
