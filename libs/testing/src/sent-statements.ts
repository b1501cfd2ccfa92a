import type { Database, Sql, Transaction } from '@parley/persistence/database';
import { Client, type QueryConfig } from 'pg';

export interface SentStatement {
  text: string;
  values: unknown[];
}

/** Statements that this process sends to Postgres during the work, on all connections, in order. */
export async function sentDuring(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: SentStatement[] = [];
  const { prototype } = Client;
  const query = Object.getOwnPropertyDescriptor(prototype, 'query')!;
  const send = query.value as (...args: unknown[]) => unknown;
  Object.defineProperty(prototype, 'query', {
    ...query,
    value(this: Client, config: string | QueryConfig, ...others: unknown[]) {
      const given = Array.isArray(others[0]) ? (others[0] as unknown[]) : undefined;
      const { text, values = [] } = typeof config === 'string' ? { text: config, values: given } : config;
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

interface Plan {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Plan[];
}

type Transactions = Pick<Database, 'transaction'>;

/** Number of Postgres pages (buffers) that the statements access when they run again. Their changes are rolled back. */
export async function pagesOf(database: Transactions, statements: SentStatement[]): Promise<number> {
  const plans = await plansOf(database, statements);
  return plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0);
}

/** Number of rows that the statements read, including rows that a filter removes, when they run again. */
export async function rowsOf(database: Transactions, statements: SentStatement[]): Promise<number> {
  const plans = await plansOf(database, statements);
  return plans.reduce((sum, plan) => sum + rowsIn(plan), 0);
}

/** Like `rowsOf`, by the plan for any values that Postgres keeps for a prepared statement. */
export async function rowsByKeptPlan(database: Transactions, statements: SentStatement[]): Promise<number> {
  const plans = await undone(database, async (tx) => {
    await tx.query('SET LOCAL plan_cache_mode = force_generic_plan');
    const plans: Plan[] = [];
    for (const { text, values } of statements.filter(isExplainable)) {
      await tx.query(`PREPARE kept AS ${text}`);
      plans.push(await planOf(tx, `EXECUTE kept (${values.map((value) => literal(value)).join(', ')})`));
      await tx.query('DEALLOCATE kept');
    }
    return plans;
  });
  return plans.reduce((sum, plan) => sum + rowsIn(plan), 0);
}

/** How often the connection that was used last ran a prepared statement by a plan that Postgres had kept. */
export async function keptPlans(sql: Sql, name: string): Promise<number> {
  const [statement] = await sql.query<{ kept: number }>(
    'SELECT generic_plans::int AS kept FROM pg_prepared_statements WHERE name = $1',
    [name],
  );
  return statement?.kept ?? 0;
}

async function plansOf(database: Transactions, statements: SentStatement[]): Promise<Plan[]> {
  return undone(database, async (tx) => {
    const plans: Plan[] = [];
    for (const { text, values } of statements.filter(isExplainable)) {
      plans.push(await planOf(tx, text, values));
    }
    return plans;
  });
}

function isExplainable({ text }: SentStatement): boolean {
  return /^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)/.test(text);
}

async function planOf(sql: Sql, text: string, values: unknown[] = []): Promise<Plan> {
  const [explained] = await sql.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
    values,
  );
  return explained!['QUERY PLAN'][0].Plan;
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `'${text.replaceAll("'", "''")}'`;
}

/** Runs the work in a transaction that is rolled back, and returns its result. */
export async function undone<T>(database: Transactions, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const end = new Error('undone');
  let given: T;
  const run = database.transaction(async (tx) => {
    given = await work(tx);
    throw end;
  });
  await run.catch((error: unknown) => {
    if (error !== end) throw error;
  });
  return given!;
}

function rowsIn({ Plans: inner = [], ...plan }: Plan): number {
  const read = inner.length === 0 ? plan['Actual Rows'] : 0;
  const unfit = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Join Filter'] ?? 0);
  return inner.reduce((sum, step) => sum + rowsIn(step), (read + unfit) * plan['Actual Loops']);
}
