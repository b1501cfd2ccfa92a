export interface NextRows {
  table: string;
  columns: string;
  where: string;
  orderBy: string;
  /** Placeholder or number. */
  limit: string | number;
  /** Lock that lets references to the row go on, for rows that keep their key. */
  strength?: 'UPDATE' | 'NO KEY UPDATE';
}

/**
 * SQL that locks the next rows of a queue until the transaction ends and skips those that another process has locked.
 * The index of `orderBy` has to cover `where`: otherwise the claim reads the rows that it leaves, too.
 */
export function lockNext({ table, columns, where, orderBy, limit, strength = 'UPDATE' }: NextRows): string {
  return `SELECT ${columns} FROM ${table} WHERE ${where} ORDER BY ${orderBy} LIMIT ${limit} FOR ${strength} SKIP LOCKED`;
}
