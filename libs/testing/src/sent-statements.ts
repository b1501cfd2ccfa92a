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

/** Pages of Postgres that they look at when they are run once more; what they change is changed once more. */
export async function pagesOf(database: Pick<Database, 'query'>, statements: SentStatement[]): Promise<number> {
  let pages = 0;
  for (const { text, values } of statements.filter(({ text }) => /^\s*(SELECT|WITH|UPDATE|DELETE)/.test(text))) {
    const [explained] = await database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
      values,
    );
    const { Plan: plan } = explained!['QUERY PLAN'][0];
    pages += plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
  }
  return pages;
}
