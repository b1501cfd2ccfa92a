import type { Database, Sql } from '@parley/persistence/database';
import { LocalIndexPointEntity, LocalIndexTenantEntity } from './local-index.entity';
import type { PassagePoint, PassageTerms } from './passage-index';
import type { StoredPoint } from './point-block';

/** Change state of a bot's points. Revisions come from one sequence and are never reused. */
export interface TenantState {
  revision: number;
  /** Revision of the newest removal: a cache older than this may contain removed points. */
  removedRevision: number;
}

const removedAtOnce = 5_000;

/** SQL of the local passage index. Every write first locks the bot's row in local_index_tenant. */
export class LocalIndexRepository {
  constructor(private readonly database: Database) {}

  async findTenantState(botId: string): Promise<TenantState | null> {
    const [row] = await this.database.query<{ revision: string; removed_revision: string }>(
      'SELECT revision, removed_revision FROM local_index_tenant WHERE bot_id = $1',
      [botId],
    );
    return row ? { revision: Number(row.revision), removedRevision: Number(row.removed_revision) } : null;
  }

  /** One statement, so the ids of the points must be unique. */
  async upsertPoints(botId: string, model: string, points: PassagePoint[], sql: Sql = this.database): Promise<void> {
    await sql.query(
      `WITH tenant AS (
         INSERT INTO local_index_tenant (bot_id, revision, removed_revision)
         SELECT $1, next, next FROM nextval('local_index_revision') AS next
         ON CONFLICT (bot_id) DO UPDATE SET revision = nextval('local_index_revision')
         RETURNING revision
       )
       INSERT INTO local_index_point
         (bot_id, id, model, file_id, content_version, vector, term_indices, term_values, tags, revision)
       SELECT $1, id, $2, file_id, content_version, vector, term_indices, term_values, tags, tenant.revision
       FROM tenant, unnest($3::uuid[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::bytea[], $9::jsonb[])
         AS point (id, file_id, content_version, vector, term_indices, term_values, tags)
       ON CONFLICT (bot_id, id, model) DO UPDATE SET
         file_id = excluded.file_id, content_version = excluded.content_version,
         vector = excluded.vector, term_indices = excluded.term_indices, term_values = excluded.term_values,
         tags = excluded.tags, revision = excluded.revision`,
      [
        botId,
        model,
        points.map(({ id }) => id),
        points.map(({ fileId }) => fileId),
        points.map(({ contentVersion }) => contentVersion),
        points.map(({ vector }) => toBytes(vector)),
        points.map(({ terms }) => toBytes(Uint32Array.from(terms.indices))),
        points.map(({ terms }) => toBytes(Float32Array.from(terms.values))),
        points.map(({ tags }) => JSON.stringify(tags)),
      ],
    );
  }

  async updateTerms(botId: string, model: string, points: PassageTerms[], sql?: Sql): Promise<void> {
    if (!sql) return this.database.transaction((tx) => this.updateTerms(botId, model, points, tx));
    const revision = await nextRevision(sql, botId);
    if (!revision) return;
    await sql.query(
      `UPDATE local_index_point AS point
       SET term_indices = changed.term_indices, term_values = changed.term_values, revision = $3
       FROM unnest($4::uuid[], $5::text[], $6::bytea[], $7::bytea[])
         AS changed (id, content_version, term_indices, term_values)
       WHERE point.bot_id = $1 AND point.id = changed.id AND model = $2
         AND point.content_version = changed.content_version`,
      [
        botId,
        model,
        revision,
        points.map(({ id }) => id),
        points.map(({ contentVersion }) => contentVersion),
        points.map(({ terms }) => toBytes(Uint32Array.from(terms.indices))),
        points.map(({ terms }) => toBytes(Float32Array.from(terms.values))),
      ],
    );
  }

  /**
   * Streams the points of a model written after a revision to `take`, page by page in one snapshot, until it returns
   * false. Index: (bot_id, revision). A cursor, because keyset pages would each be sorted again while statistics are
   * missing. The next page is fetched while the current one is processed. Base64, because the driver reads only text
   * and base64 is the shortest and fastest encoding of Postgres.
   */
  async readPointsSince(
    botId: string,
    model: string,
    revision: number,
    take: (points: StoredPoint[]) => Promise<boolean>,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query(
        `DECLARE changed NO SCROLL CURSOR FOR
         SELECT id, file_id, content_version, octet_length(vector) AS vector_bytes,
           octet_length(term_indices) AS term_bytes,
           encode(vector || term_indices || term_values, 'base64') AS numbers, tags::text
         FROM local_index_point WHERE bot_id = $1 AND model = $2 AND revision > $3`,
        [botId, model, revision],
      );
      let rows = await readPage(tx);
      while (rows.length > 0) {
        const [next, goesOn] = await Promise.all([readPage(tx), take(toPoints(rows))]);
        if (!goesOn) return;
        rows = next;
      }
    });
  }

  async listPointIds(botId: string, model: string): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      'SELECT id FROM local_index_point WHERE bot_id = $1 AND model = $2',
      [botId, model],
    );
    return rows.map(({ id }) => id);
  }

  /** Updates only points whose tags differ, so that caches reload only these. */
  async updateTagsOfFile(botId: string, fileId: string, tags: Record<string, string>, sql?: Sql): Promise<void> {
    if (!sql) return this.database.transaction((tx) => this.updateTagsOfFile(botId, fileId, tags, tx));
    const revision = await nextRevision(sql, botId);
    if (!revision) return;
    await sql.query(
      `UPDATE local_index_point SET tags = $3, revision = $4 WHERE bot_id = $1 AND file_id = $2 AND tags <> $3`,
      [botId, fileId, JSON.stringify(tags), revision],
    );
  }

  async deletePointsOfFile(botId: string, fileId: string, exceptVersion: string | null, sql?: Sql): Promise<void> {
    if (!sql) return this.database.transaction((tx) => this.deletePointsOfFile(botId, fileId, exceptVersion, tx));
    const condition = 'file_id = $2 AND content_version IS DISTINCT FROM $3';
    await remove(sql, botId, condition, [fileId, exceptVersion]);
  }

  async deletePointsOfFiles(botId: string, fileIds: string[]): Promise<void> {
    await this.database.transaction((tx) => remove(tx, botId, 'file_id = ANY ($2)', [fileIds]));
  }

  async deletePointsOfBot(botId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lock(tx, botId);
      await tx.manager.delete(LocalIndexPointEntity, { bot_id: botId });
      await tx.manager.delete(LocalIndexTenantEntity, { bot_id: botId });
    });
  }

  /** Deletes in batches of 5,000: the bot's row is locked during each, which blocks writes. */
  async deletePointsOfModel(botId: string, model: string): Promise<void> {
    const condition = `ctid IN (SELECT ctid FROM local_index_point WHERE bot_id = $1 AND model = $2 LIMIT $3)`;
    for (let removed = removedAtOnce; removed === removedAtOnce;) {
      removed = await this.database.transaction((tx) => remove(tx, botId, condition, [model, removedAtOnce]));
    }
  }

  countPointsOfBot(botId: string): Promise<number> {
    return this.database.manager.countBy(LocalIndexPointEntity, { bot_id: botId });
  }
}

interface Row {
  id: string;
  file_id: string;
  content_version: string;
  vector_bytes: number;
  term_bytes: number;
  numbers: string;
  tags: string;
}

function readPage(tx: Sql): Promise<Row[]> {
  return tx.query<Row>('FETCH 500 FROM changed');
}

/** Row lock in a separate statement, so that the next statement sees the rows committed during the wait. */
async function lock(tx: Sql, botId: string): Promise<void> {
  await tx.query('SELECT 1 FROM local_index_tenant WHERE bot_id = $1 FOR UPDATE', [botId]);
}

/**
 * Locks the bot's row and returns a new revision; undefined for a bot without points. nextval is in SET, which is
 * evaluated again after waiting for the lock: a value from FROM would be older than the revision of the previous
 * holder.
 */
async function nextRevision(tx: Sql, botId: string): Promise<string | undefined> {
  const [row] = await tx.query<{ revision: string }>(
    "UPDATE local_index_tenant SET revision = nextval('local_index_revision') WHERE bot_id = $1 RETURNING revision",
    [botId],
  );
  return row?.revision;
}

/**
 * Deletes the bot's points that match the condition and returns their number. The revision changes only when points
 * were deleted, because each process that caches the bot then reloads all of its ids. `values` are the parameters from
 * $2 on.
 */
async function remove(tx: Sql, botId: string, condition: string, values: unknown[]): Promise<number> {
  await lock(tx, botId);
  const [row] = await tx.query<{ count: string }>(
    `WITH removed AS (DELETE FROM local_index_point WHERE bot_id = $1 AND ${condition} RETURNING 1)
     SELECT count(*) FROM removed`,
    [botId, ...values],
  );
  const removed = Number(row?.count);
  if (removed > 0) {
    await nextRevision(tx, botId);
    await tx.query('UPDATE local_index_tenant SET removed_revision = revision WHERE bot_id = $1', [botId]);
  }
  return removed;
}

/** Decodes rows into points. The numbers of all rows share one buffer, and equal tags share one object. */
function toPoints(rows: Row[]): StoredPoint[] {
  const sizes = rows.map(({ vector_bytes, term_bytes }) => vector_bytes + 2 * term_bytes);
  const buffer = new ArrayBuffer(sizes.reduce((sum, size) => sum + size, 0));
  const bytes = Buffer.from(buffer);
  const tagsByText = new Map<string, Record<string, string>>();
  let start = 0;
  return rows.map((row, index) => {
    bytes.write(row.numbers, start, 'base64');
    const [termStart, valueStart] = [start + row.vector_bytes, start + row.vector_bytes + row.term_bytes];
    const tags = tagsByText.get(row.tags) ?? (JSON.parse(row.tags) as Record<string, string>);
    tagsByText.set(row.tags, tags);
    const point = {
      id: row.id,
      fileId: row.file_id,
      contentVersion: row.content_version,
      vector: new Float32Array(buffer, start, row.vector_bytes / 4),
      termIndices: new Uint32Array(buffer, termStart, row.term_bytes / 4),
      termValues: new Float32Array(buffer, valueStart, row.term_bytes / 4),
      tags,
    };
    start += sizes[index]!;
    return point;
  });
}

/** Little endian, the byte order of all platforms that Node supports. */
function toBytes({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
