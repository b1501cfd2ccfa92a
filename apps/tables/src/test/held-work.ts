import type { FrontDoor } from '@parley/testing/front-door';

/** Holds all computing and indexing, so that tests can inspect the waiting rows. */
export async function holdWork(door: FrontDoor): Promise<void> {
  await door.sql(`
    CREATE FUNCTION tables.hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.due_at := 'infinity'; RETURN NEW; END $$;
    CREATE TRIGGER hold BEFORE INSERT OR UPDATE ON tables.table_work FOR EACH ROW EXECUTE FUNCTION tables.hold()`);
}
