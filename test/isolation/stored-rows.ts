import type { PublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';

/** Tables of work in progress and of migrations, which hold no resources of a tenant. */
const underWay = ['migration', 'outbox', 'outbox_place', 'inbox', 'dead_letter', 'work'];

/** Counts of calls, which the runtime writes and reports seconds to a minute after a call. Deliveries show each call. */
const countsCalls = (row: string) =>
  row.startsWith('runtime.call_count ') || /^admin[.]usage .*invocation_calls/.test(row);

type Sql = PublicApi['sql'];

/** Second looks at deliveries, some seconds after the change of a bot. They change no rows of a tenant. */
const secondLooks = `'runtime.wakes', 'chat.announceEvents'`;

/** Every row of every service as text with its table, after all events and all background work have been processed, without counts of calls. */
export async function storedRows(sql: Sql): Promise<string[]> {
  await waitFor(
    () => workUnderWay(sql),
    (count) => count === 0,
  );
  const tables = (await tablesOf(sql)).filter(({ name }) => !underWay.includes(name));
  const selects = tables.map(
    ({ schema, name }) => `SELECT '${schema}.${name} ' || t::text AS row FROM ${schema}.${name} t`,
  );
  const rows = await sql<{ row: string }>(selects.join(' UNION ALL '));
  return rows
    .map(({ row }) => row)
    .filter((row) => !countsCalls(row))
    .sort();
}

async function workUnderWay(sql: Sql): Promise<number> {
  const tables = await tablesOf(sql);
  const schemasWith = (table: string) => tables.filter(({ name }) => name === table).map(({ schema }) => schema);
  const selects = [
    ...schemasWith('outbox').map(
      (schema) => `SELECT count(*)::int AS count FROM ${schema}.outbox WHERE published_at IS NULL`,
    ),
    ...schemasWith('work').map(
      (schema) =>
        `SELECT count(*)::int FROM ${schema}.work WHERE queue NOT IN (${secondLooks}) AND (state IN ('ready', 'running') OR due_at < now() + interval '30 seconds')`,
    ),
  ];
  const counts = await sql<{ count: number }>(selects.join(' UNION ALL '));
  return counts.reduce((sum, { count }) => sum + count, 0);
}

function tablesOf(sql: Sql): Promise<{ schema: string; name: string }[]> {
  return sql(`
    SELECT table_schema AS schema, table_name AS name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'`);
}
