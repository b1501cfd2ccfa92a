import type { Pool } from 'pg';

/** Rows written, by table and kind of change. */
export type RowCounts = Record<string, number>;

/**
 * Counts rows by triggers on all tables of a database. pg_stat_user_tables shows the same rows up to ten seconds later.
 */
export class RowCounter {
  private constructor(private readonly pool: Pool) {}

  static async start(pool: Pool): Promise<RowCounter> {
    await pool.query(`
      CREATE SCHEMA bench;
      CREATE FUNCTION bench.count_row() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM nextval(format('bench.%I', TG_ARGV[0] || ' ' || TG_OP)); RETURN NULL; END $$;
      DO $$ DECLARE target regclass; kind text; BEGIN
        FOR target IN SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
          AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema', 'bench')
        LOOP
          FOREACH kind IN ARRAY ARRAY['INSERT', 'UPDATE', 'DELETE'] LOOP
            EXECUTE format('CREATE SEQUENCE bench.%I', target || ' ' || kind);
          END LOOP;
          EXECUTE format('CREATE TRIGGER count_row AFTER INSERT OR UPDATE OR DELETE ON %s
            FOR EACH ROW EXECUTE FUNCTION bench.count_row(%L)', target, target);
        END LOOP;
      END $$`);
    return new RowCounter(pool);
  }

  async read(): Promise<RowCounts> {
    const { rows } = await this.pool.query<{ name: string; count: number }>(
      `SELECT sequencename AS name, last_value::int AS count FROM pg_sequences
       WHERE schemaname = 'bench' AND last_value IS NOT NULL ORDER BY 1`,
    );
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  }

  async stop(): Promise<void> {
    await this.pool.query('DROP SCHEMA bench CASCADE');
  }
}
