import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { Every } from '@parley/work-queue/worker';

const intervalMs = 10 * 60_000;
/** Margin: no writer finds its hour without a partition, even if none could be created for an hour. */
const hoursAhead = 2;
const hoursKept = 2;

/** Advisory lock: one process at a time changes partitions. */
const lock = 'signal-partitions';
/**
 * A DDL statement that waits for its table lock blocks all later statements, so it gives up early and is retried in the
 * next round.
 */
const lockTimeoutMs = 200;

@Injectable()
export class SignalPartitionsRepository {
  constructor(private readonly database: Database) {}

  /** Retention of signals: drops whole partitions, each of one hour. */
  @Every({ name: 'chat.signalPartitions', everyMs: intervalMs })
  async rotate(): Promise<void> {
    await this.rotatePartitions(hoursAhead, hoursKept);
  }

  /**
   * Creates partitions for this hour and the next ones and drops old ones. An hour with rows in the default partition
   * gets none. Each change has its own transaction, so that writers are blocked only briefly.
   */
  async rotatePartitions(hoursAhead: number, hoursKept: number): Promise<void> {
    // Comes first: attaching a partition scans the default partition under a lock that blocks writers.
    await deleteOlder(this.database, 'signal_default', 'created_at', hoursKept);
    while (await this.makeNext(hoursAhead));
    while (await this.dropNext(hoursKept));
  }

  private async makeNext(hoursAhead: number): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      if (!(await this.isOurs(tx))) return false;
      const [missing] = await this.missing(tx, hoursAhead);
      if (!missing) return false;
      const { name, from, to } = missing;
      // ATTACH PARTITION takes a weaker lock than CREATE TABLE ... PARTITION OF, so writers can continue.
      await tx.query(`CREATE TABLE ${name} (LIKE signal INCLUDING DEFAULTS INCLUDING INDEXES)`);
      await tx.query(`ALTER TABLE signal ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`);
      return true;
    });
  }

  private async dropNext(hoursKept: number): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      if (!(await this.isOurs(tx))) return false;
      const [name] = await this.outdated(tx, hoursKept);
      if (name === undefined) return false;
      await tx.query(`DROP TABLE ${name}`);
      return true;
    });
  }

  private async isOurs(tx: Transaction): Promise<boolean> {
    await tx.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    const [row] = await tx.query<{ isOurs: boolean }>(
      `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS "isOurs"`,
      [lock],
    );
    return row!.isOurs;
  }

  /** Excludes hours with rows in the default partition. */
  private missing(tx: Transaction, hoursAhead: number): Promise<{ name: string; from: string; to: string }[]> {
    return tx.query(
      `SELECT name, begins::text AS from, (begins + interval '1 hour')::text AS to
       FROM generate_series(0, $1) AS ahead,
         LATERAL (SELECT date_trunc('hour', now(), 'UTC') + make_interval(hours => ahead) AS begins) AS hour,
         LATERAL (SELECT 'signal_' || to_char(begins AT TIME ZONE 'UTC', 'YYYYMMDDHH24') AS name) AS partition
       WHERE to_regclass(name) IS NULL AND NOT EXISTS (
         SELECT FROM signal_default WHERE created_at >= begins AND created_at < begins + interval '1 hour')`,
      [hoursAhead],
    );
  }

  private async outdated(tx: Transaction, hoursKept: number): Promise<string[]> {
    const rows = await tx.query<{ name: string }>(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
       WHERE inhparent = 'signal'::regclass AND relname <> 'signal_default'
         AND relname < 'signal_' || to_char((now() - make_interval(hours => $1)) AT TIME ZONE 'UTC', 'YYYYMMDDHH24')`,
      [hoursKept],
    );
    return rows.map(({ name }) => name);
  }
}
