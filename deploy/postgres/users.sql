-- Creates a role for each schema, parley_<schema>, with read and write access to that schema only. Run it in the migrated
-- database as a superuser; it is idempotent, and needed again when a new version adds a schema. The role that migrates stays
-- the owner of the schemas, and its later tables are granted too. The roles have no passwords yet.
DO $$
DECLARE
  name text;
  owner text;
  app text;
  part regclass;
BEGIN
  FOR name, owner IN
    SELECT nspname, pg_get_userbyid(nspowner) FROM pg_namespace
    WHERE nspname IN ('admin', 'hub', 'files', 'tables', 'chat', 'runtime', 'models')
  LOOP
    app := 'parley_' || name;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = app) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', app);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', name, app);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO %I', name, app);
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO %I', name, app);
    EXECUTE format(
      'ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I',
      owner, name, app);
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT USAGE ON SEQUENCES TO %I', owner, name, app);

    -- chat makes and drops a partition of its signals each hour, which takes their owner. Whoever migrates may act as that one.
    IF name = 'chat' THEN
      EXECUTE format('GRANT CREATE ON SCHEMA %I TO %I', name, app);
      EXECUTE format('GRANT %I TO %I', app, owner);
      FOR part IN SELECT relid FROM pg_partition_tree('chat.signal') LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO %I', part, app);
      END LOOP;
    END IF;
  END LOOP;
END
$$;
