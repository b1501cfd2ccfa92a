/** Tables of the local index, in the schemas of the services that have one. Part of their first migration: never edited. */
export const localIndexTables1795392000000 = `
  CREATE SEQUENCE local_index_revision;

  CREATE TABLE local_index_tenant (
    bot_id text COLLATE "C" PRIMARY KEY,
    revision int8 NOT NULL,
    removed_revision int8 NOT NULL
  );

  CREATE TABLE local_index_point (
    bot_id text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    model text NOT NULL,
    file_id text COLLATE "C" NOT NULL,
    content_version text COLLATE "C" NOT NULL,
    vector bytea NOT NULL,
    term_indices bytea NOT NULL,
    term_values bytea NOT NULL,
    tags jsonb NOT NULL,
    revision int8 NOT NULL,
    PRIMARY KEY (bot_id, id, model)
  );
  CREATE INDEX local_index_point_revision ON local_index_point (bot_id, revision);
  CREATE INDEX local_index_point_file ON local_index_point (bot_id, file_id);

  -- Floats do not compress: do not try.
  ALTER TABLE local_index_point ALTER COLUMN vector SET STORAGE EXTERNAL;
`;
