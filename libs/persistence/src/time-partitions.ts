import type { Database, Transaction } from './database';
import { deleteOlder } from './delete-older';

/** Table `PARTITION BY RANGE (created_at)` with a partition `<table>_default`. */
export interface PartitionedTable {
  table: string;
  /** Time that one partition holds, in UTC. */
  unit: 'hour' | 'day';
  /** Units ahead of now that have a partition: no writer finds its time without one. */
  ahead: number;
  /** Units that are kept before the current one. */
  kept: number;
}

const hoursOf = { hour: 1, day: 24 };
const suffixOf = { hour: 'YYYYMMDDHH24', day: 'YYYYMMDD' };
/**
 * A DDL statement that waits for its table lock blocks all later statements, so it gives up early and is retried in the
 * next round.
 */
const lockTimeoutMs = 200;

/**
 * Creates partitions for this unit and the next ones and drops old ones. A unit with rows in the default partition gets
 * none. Each change has its own transaction, so that writers are blocked only briefly. Safe to run in several processes.
 */
export async function rotatePartitions(database: Database, rule: PartitionedTable): Promise<void> {
  const { table, unit, kept } = rule;
  // Comes first: attaching a partition scans the default partition under a lock that blocks writers.
  await deleteOlder(database, `${table}_default`, 'created_at', kept * hoursOf[unit]);
  while (await makeNext(database, rule));
  while (await dropNext(database, rule));
}

function makeNext(database: Database, rule: PartitionedTable): Promise<boolean> {
  const { table } = rule;
  return database.transaction(async (tx) => {
    if (!(await isOurs(tx, table))) return false;
    let [missing] = await missingPartitions(tx, rule);
    if (missing?.isCurrent) {
      // Writers use the default partition now. One that had chosen it before the change would be refused after it.
      await tx.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
      [missing] = await missingPartitions(tx, rule);
    }
    if (!missing) return false;
    const { name, from, to } = missing;
    // ATTACH PARTITION takes a weaker lock than CREATE TABLE ... PARTITION OF, so writers can continue.
    await tx.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING DEFAULTS INCLUDING INDEXES)`);
    await tx.query(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`);
    return true;
  });
}

function dropNext(database: Database, rule: PartitionedTable): Promise<boolean> {
  return database.transaction(async (tx) => {
    if (!(await isOurs(tx, rule.table))) return false;
    const [name] = await outdatedPartitions(tx, rule);
    if (name === undefined) return false;
    await tx.query(`DROP TABLE ${name}`);
    return true;
  });
}

/** Advisory lock: one process at a time changes the partitions of a table. */
async function isOurs(tx: Transaction, table: string): Promise<boolean> {
  await tx.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
  const [row] = await tx.query<{ isOurs: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS "isOurs"`,
    [`${table}-partitions`],
  );
  return row!.isOurs;
}

/** Excludes units with rows in the default partition. */
function missingPartitions(
  tx: Transaction,
  { table, unit, ahead }: PartitionedTable,
): Promise<{ name: string; from: string; to: string; isCurrent: boolean }[]> {
  const length = `make_interval(hours => ${hoursOf[unit]})`;
  return tx.query(
    `SELECT name, begins::text AS from, (begins + ${length})::text AS to, ahead = 0 AS "isCurrent"
     FROM generate_series(0, $1) AS ahead,
       LATERAL (SELECT date_trunc('${unit}', now(), 'UTC') + ahead * ${length} AS begins) AS unit,
       LATERAL (SELECT '${table}_' || to_char(begins AT TIME ZONE 'UTC', '${suffixOf[unit]}') AS name) AS partition
     WHERE to_regclass(name) IS NULL AND NOT EXISTS (
       SELECT FROM ${table}_default WHERE created_at >= begins AND created_at < begins + ${length})`,
    [ahead],
  );
}

async function outdatedPartitions(tx: Transaction, { table, unit, kept }: PartitionedTable): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
     WHERE inhparent = '${table}'::regclass AND relname <> '${table}_default'
       AND relname < '${table}_' || to_char((now() - make_interval(hours => $1)) AT TIME ZONE 'UTC', '${suffixOf[unit]}')`,
    [kept * hoursOf[unit]],
  );
  return rows.map(({ name }) => name);
}
