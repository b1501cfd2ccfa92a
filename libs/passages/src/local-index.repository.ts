import type { Database, Sql } from '@parley/persistence/database';
import { LocalIndexBlockEntity, LocalIndexPointEntity, LocalIndexTenantEntity } from './local-index.entity';
import type { PassagePoint, PassageTerms } from './passage-index';
import type { StoredRow } from './point-rows';
import type { BlockState } from './point-store';

/** Change state of a bot's points. Revisions come from one sequence and are never reused. */
export interface TenantState {
  revision: number;
  /** Revision of the newest removal: a cache older than this may contain removed points. */
  removedRevision: number;
}

export interface PointsOfBot {
  botId: string;
  model: string;
}

export interface StorableBlocks {
  revision: number;
  blocks: BlockState[];
  /** Points that are not in stored blocks of this process, or still are after their removal. */
  unstored: number;
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
   * missing. The next page is fetched while the current one is processed. Base64, because the driver reads only text and base64 is the shortest and fastest encoding of Postgres.
   */
  async readPointsSince(
    { botId, model }: PointsOfBot,
    revision: number,
    take: (rows: StoredRow[]) => Promise<boolean>,
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
        const [next, goesOn] = await Promise.all([readPage(tx), take(rows)]);
        if (!goesOn) return;
        rows = next;
      }
    });
  }

  /** Exact vectors of those points that exist. Index: primary key. */
  async readVectors(botId: string, model: string, ids: string[]): Promise<{ id: string; vector: Float32Array }[]> {
    const rows = await this.database.query<{ id: string; vector: string }>(
      `SELECT id, encode(vector, 'base64') AS vector FROM local_index_point
       WHERE bot_id = $1 AND model = $2 AND id = ANY($3::uuid[])`,
      [botId, model, ids],
      'local-index-vectors',
    );
    return rows.map(({ id, vector }) => {
      const bytes = new Uint8Array(Buffer.from(vector, 'base64'));
      return { id, vector: new Float32Array(bytes.buffer) };
    });
  }

  /** Ids of all points, each of 16 bytes, in base64. */
  async readIds({ botId, model }: PointsOfBot): Promise<string> {
    const [row] = await this.database.query<{ ids: string | null }>(
      `SELECT encode(string_agg(uuid_send(id), ''), 'base64') AS ids FROM local_index_point
       WHERE bot_id = $1 AND model = $2`,
      [botId, model],
    );
    return row?.ids ?? '';
  }

  /** Passes the stored blocks, which are the points at one revision, to `take`, until it returns false. */
  async readBlocks(
    { botId, model }: PointsOfBot,
    take: (block: BlockState, bytes: ArrayBuffer, revision: number) => Promise<boolean>,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      // Each block is read by a statement of its own, all of them in one snapshot.
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      const blocks = await tx.query<{ id: string; revision: string; dead: Buffer | null }>(
        'SELECT id, revision, dead FROM local_index_block WHERE bot_id = $1 AND model = $2',
        [botId, model],
      );
      const read = async (id?: string) => {
        if (id === undefined) return [];
        const select = 'SELECT bytes FROM local_index_block WHERE bot_id = $1 AND model = $2 AND id = $3';
        return tx.queryBytes(select, [botId, model, id]);
      };
      let reading = read(blocks[0]?.id);
      for (const [i, { id, revision, dead }] of blocks.entries()) {
        const [bytes] = await reading;
        reading = read(blocks[i + 1]?.id);
        const block = { id, dead: dead ? new Uint8Array(dead) : undefined };
        const [goesOn] = await Promise.all([take(block, bytes!.buffer as ArrayBuffer, Number(revision)), reading]);
        if (!goesOn) return;
      }
    });
  }

  /**
   * Makes the stored blocks those of a process at a revision, unless another process is doing so, or has done so since all
   * but a few changes. Writes and removals go on; an erasure waits.
   */
  async storeBlocks(
    { botId, model }: PointsOfBot,
    { revision, blocks, unstored }: StorableBlocks,
    read: (id: string) => Promise<Uint8Array>,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      const free = await tx.query(
        `SELECT 1 FROM local_index_tenant WHERE bot_id = $1 AND pg_try_advisory_xact_lock(hashtextextended($2, 0))
         FOR KEY SHARE`,
        [botId, `${this.database.schema}:local_index_block:${botId}:${model}`],
      );
      if (free.length === 0) return;

      const stored = await tx.query<{ id: string; revision: string }>(
        'SELECT id, revision FROM local_index_block WHERE bot_id = $1 AND model = $2',
        [botId, model],
      );
      const ids = blocks.map(({ id }) => id);
      const kept = new Set(stored.map(({ id }) => id).filter((id) => ids.includes(id)));
      const head = Number(stored[0]?.revision ?? 0);
      if (head >= revision) return;
      if (head > 0 && kept.size === 0 && 2 * (await countSince(tx, { botId, model }, head)) < unstored) return;

      await tx.query('DELETE FROM local_index_block WHERE bot_id = $1 AND model = $2 AND id <> ALL ($3)', [
        botId,
        model,
        ids,
      ]);
      for (const { id, dead } of blocks) {
        const state = [botId, model, id, revision, dead && Buffer.from(dead)];
        if (kept.has(id))
          await tx.query(
            'UPDATE local_index_block SET revision = $4, dead = $5 WHERE bot_id = $1 AND model = $2 AND id = $3',
            state,
          );
        else
          await tx.query(
            'INSERT INTO local_index_block (bot_id, model, id, revision, dead, bytes) VALUES ($1, $2, $3, $4, $5, $6)',
            [...state, Buffer.from(await read(id))],
          );
      }
    });
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
      // With the blocks.
      await tx.manager.delete(LocalIndexTenantEntity, { bot_id: botId });
    });
  }

  /** Deletes in batches of 5,000: the bot's row is locked during each, which blocks writes. */
  async deletePointsOfModel(botId: string, model: string): Promise<void> {
    const condition = `ctid IN (SELECT ctid FROM local_index_point WHERE bot_id = $1 AND model = $2 LIMIT $3)`;
    for (let removed = removedAtOnce; removed === removedAtOnce;) {
      removed = await this.database.transaction((tx) => remove(tx, botId, condition, [model, removedAtOnce]));
    }
    await this.database.manager.delete(LocalIndexBlockEntity, { bot_id: botId, model });
  }

  countPointsOfBot(botId: string): Promise<number> {
    return this.database.manager.countBy(LocalIndexPointEntity, { bot_id: botId });
  }
}

function readPage(tx: Sql): Promise<StoredRow[]> {
  return tx.query<StoredRow>('FETCH 500 FROM changed');
}

/** Index: (bot_id, revision). */
async function countSince(tx: Sql, { botId, model }: PointsOfBot, revision: number): Promise<number> {
  const [row] = await tx.query<{ count: string }>(
    'SELECT count(*) FROM local_index_point WHERE bot_id = $1 AND model = $2 AND revision > $3',
    [botId, model, revision],
  );
  return Number(row?.count);
}

/**
 * Row lock in a separate statement, so that the next statement sees the rows committed during the wait. It lets blocks be
 * stored meanwhile.
 */
async function lock(tx: Sql, botId: string): Promise<void> {
  await tx.query('SELECT 1 FROM local_index_tenant WHERE bot_id = $1 FOR NO KEY UPDATE', [botId]);
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

/** Little endian, the byte order of all platforms that Node supports. */
function toBytes({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
