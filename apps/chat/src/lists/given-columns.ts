import type { LeadingColumn } from '@parley/persistence/keyset';

export function givenColumns(columns: Record<string, string | undefined>, values: unknown[]): LeadingColumn[] {
  return Object.entries(columns)
    .filter(([, value]) => value !== undefined)
    .map(([sql, value]) => ({ sql, value: `$${values.push(value)}` }));
}

export function toEquality({ sql, value }: LeadingColumn): string {
  return `${sql} = ${value}`;
}
