import type { Database } from '@parley/database/database';
import { Client, type QueryConfig } from 'pg';

export interface SentStatement {
  text: string;
  values: unknown[];
}

/** What this process sends to Postgres while the work is done, on all connections and for whomever, in its order. */
export async function sentDuring(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: SentStatement[] = [];
  const { prototype } = Client;
  const query = Object.getOwnPropertyDescriptor(prototype, 'query')!;
  const send = query.value as (...args: unknown[]) => unknown;
  Object.defineProperty(prototype, 'query', {
    ...query,
    value(this: Client, config: string | QueryConfig, ...others: unknown[]) {
      const { text, values = [] } = typeof config === 'string' ? { text: config } : config;
      sent.push({ text, values: values as unknown[] });
      return send.call(this, config, ...others);
    },
  });
  try {
    await work();
    return sent;
  } finally {
    Object.defineProperty(prototype, 'query', query);
  }
}

/** Pages of Postgres that the SELECTs among them look at when they are run once more. */
export async function pagesOf(database: Pick<Database, 'query'>, statements: SentStatement[]): Promise<number> {
  let pages = 0;
  for (const { text, values } of statements.filter(({ text }) => /^\s*SELECT/.test(text))) {
    const [explained] = await database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
      values,
    );
    const { Plan: plan } = explained!['QUERY PLAN'][0];
    pages += plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
  }
  return pages;
}

interface Plan {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: Plan[];
}

/**
 * Rows that are read for the statements among them, or compared and found not to fit, when they are run once more. What they
 * change is undone.
 */
export async function rowsOf(database: Pick<Database, 'transaction'>, statements: SentStatement[]): Promise<number> {
  let rows = 0;
  for (const { text, values } of statements.filter(({ text }) => /^\s*(SELECT|WITH|UPDATE|DELETE)/.test(text))) {
    const undone = new Error('undone');
    const explaining = database.transaction(async (tx) => {
      const [explained] = await tx.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values,
      );
      rows += rowsIn(explained!['QUERY PLAN'][0].Plan);
      throw undone;
    });
    await explaining.catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  }
  return rows;
}

function rowsIn({ Plans: inner = [], ...plan }: Plan): number {
  const read = inner.length === 0 ? plan['Actual Rows'] : 0;
  const unfit = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Join Filter'] ?? 0);
  return inner.reduce((sum, step) => sum + rowsIn(step), (read + unfit) * plan['Actual Loops']);
}
