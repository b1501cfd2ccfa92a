import type { PublicApi } from '@parley/testing/public-api';

/** Holds all computing and indexing, so that tests can inspect the waiting rows. */
export async function holdWork(api: PublicApi): Promise<void> {
  await api.sql(`
    CREATE FUNCTION tables.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      NEW.state := 'waiting';
      NEW.position := NULL;
      NEW.due_at := now() + interval '1 day';
      RETURN NEW;
    END $$;
    CREATE TRIGGER hold BEFORE INSERT OR UPDATE ON tables.work FOR EACH ROW
      WHEN (NEW.queue IN ('tables.compute', 'tables.index')) EXECUTE FUNCTION tables.hold()`);
}
