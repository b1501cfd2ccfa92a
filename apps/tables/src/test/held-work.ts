import type { PublicApi } from '@parley/testing/public-api';

/** Holds all computing and indexing, so that tests can inspect the waiting rows. */
export async function holdWork(api: PublicApi): Promise<void> {
  await api.sql(`
    CREATE FUNCTION tables.hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.due_at := 'infinity'; RETURN NEW; END $$;
    CREATE TRIGGER hold BEFORE INSERT OR UPDATE ON tables.table_work FOR EACH ROW EXECUTE FUNCTION tables.hold()`);
}
