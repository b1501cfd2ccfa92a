import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { ListUsers } from '@parley/contracts/chat/users';
import { Database, type Sql } from '@parley/persistence/database';
import { newId, timeOfId } from '@parley/persistence/ids';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { Repository } from 'typeorm';
import { BoundedReadsService } from '../queries/bounded-reads.service';
import { isWithin } from '../queries/list-statements';
import { eachOf, type RowSource, taggedRows } from '../tags/tagged-rows';
import { tagRowsOf } from '../tags/tags.repository';
import { inScope, isOf, type Scope } from '../queries/scope';
import { UserEntity } from './user.entity';

export type NewUser = Omit<UserEntity, 'id' | 'created_at' | 'updated_at'>;

export const touched = "greatest(now(), updated_at + interval '1 millisecond')";

/** Visibility condition: the bot's own user is visible to every installation. */
const isSeen = `bot_id = $1 AND (${isOf('$2')} OR id = $1)`;

const narrowing = 'Filter by a tag that few users have, or sort by the field that rangeField names.';

@Injectable()
export class UsersRepository {
  constructor(
    private readonly database: Database,
    private readonly bounded: BoundedReadsService,
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
  ) {}

  /** Throws a unique violation for a duplicate foreign id. */
  async insertUser(user: NewUser, sql: Sql = this.database): Promise<UserEntity> {
    const id = newId('user');
    const [row] = await sql.query<UserEntity>(
      `WITH made AS (
         INSERT INTO "user" (bot_id, id, integration_alias, name, picture_url, tags, properties, foreign_id, profile,
           created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
         RETURNING *),
       tags AS (${tagRowsOf('user', 'made')})
       SELECT * FROM made`,
      [
        user.bot_id,
        id,
        user.integration_alias,
        user.name,
        user.picture_url,
        toJsonb(user.tags),
        toJsonb(user.properties),
        user.foreign_id,
        user.profile,
        timeOfId(id),
      ],
    );
    return row!;
  }

  /** Creates the bot's own user on first read. Index: the primary key. */
  async findUserById({ botId, alias }: Scope, id: string, sql: Sql = this.database): Promise<UserEntity | undefined> {
    const find = async () =>
      (await sql.query<UserEntity>(`SELECT * FROM "user" WHERE ${isSeen} AND id = $3`, [botId, alias, id]))[0];
    const row = await find();
    if (row || id !== botId) return row;
    await this.insertBotUser(botId, sql);
    return find();
  }

  async userExists(botId: string, id: string): Promise<boolean> {
    if (id === botId) return true;
    return this.users.existsBy({ bot_id: botId, id });
  }

  /**
   * Own user of the bot if it has all of these tags, otherwise the oldest user with them. Indexes: the primary key,
   * tag_place.
   */
  async findOldestUserByTags(
    { botId, alias }: Scope,
    tags: Record<string, string>,
    sql: Sql = this.database,
  ): Promise<UserEntity | undefined> {
    const values: unknown[] = [botId, alias];
    const rows = `SELECT * FROM "user" u WHERE ${isSeen}`;
    const { from, time, id } = await taggedRows(sql, { kind: 'user', as: 'u', rows, tags }, values);
    const own = `SELECT * FROM "user" WHERE bot_id = $1 AND id = $1 AND tags @> $${values.push(toJsonb(tags))}::jsonb`;
    const [row] = await sql.query<UserEntity>(
      `(${own}) UNION ALL (SELECT u.* FROM ${from} ORDER BY ${time}, ${id} LIMIT 1) LIMIT 1`,
      values,
    );
    return row;
  }

  async lockUser(tx: Sql, { botId, alias }: Scope, id: string): Promise<UserEntity | undefined> {
    if (id === botId) await this.insertBotUser(botId, tx);
    const [row] = await tx.query<UserEntity>(`SELECT * FROM "user" WHERE ${isSeen} AND id = $3 FOR NO KEY UPDATE`, [
      botId,
      alias,
      id,
    ]);
    return row;
  }

  /** Exclusive row lock: the user cannot become a participant meanwhile. */
  async lockUserToDelete(tx: Sql, { botId, alias }: Scope, id: string): Promise<UserEntity | undefined> {
    const [row] = await tx.query<UserEntity>(`SELECT * FROM "user" WHERE ${isSeen} AND id = $3 FOR UPDATE`, [
      botId,
      alias,
      id,
    ]);
    return row;
  }

  /** Shared row lock: the user cannot be deleted until the end of the transaction. False if there is no such user. */
  async lockUserAgainstDeletion(tx: Sql, botId: string, id: string): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM "user" WHERE bot_id = $1 AND id = $2 FOR KEY SHARE', [botId, id]);
    return rows.length > 0;
  }

  /** Requires the row lock. Tag rows are updated separately, by TagsRepository. */
  async updateUser(tx: Sql, user: UserEntity): Promise<UserEntity> {
    const [row] = await tx.query<UserEntity>(
      `UPDATE "user" SET name = $3, picture_url = $4, tags = $5, properties = $6, profile = $7, updated_at = ${touched}
       WHERE bot_id = $1 AND id = $2 RETURNING *`,
      [user.bot_id, user.id, user.name, user.picture_url, toJsonb(user.tags), toJsonb(user.properties), user.profile],
    );
    return row!;
  }

  /** Requires the lock of `lockUserToDelete`. Also deletes the participants and states of the user; messages remain. */
  async deleteUser(tx: Sql, { bot_id, id }: UserEntity): Promise<void> {
    await tx.query(
      `WITH participants AS (DELETE FROM participant WHERE bot_id = $1 AND user_id = $2),
         states AS (DELETE FROM state WHERE bot_id = $1 AND type = 'user' AND owner_id = $2)
       DELETE FROM "user" WHERE bot_id = $1 AND id = $2`,
      [bot_id, id],
    );
  }

  /**
   * Indexes user_created, user_updated, or their counterparts per integration; with a conversation or tags those of
   * `sourceOf`.
   */
  async listUsers({ botId, alias }: Scope, query: ListUsers) {
    const { conversationId, tags, afterDate, beforeDate, nextToken } = query;
    const { sortField = 'createdAt', sortDirection = 'desc', rangeField = 'createdAt' } = query;
    const limit = pageSize(query);
    const boundTo = [botId, alias, conversationId, tags, afterDate, beforeDate, rangeField];
    const values: unknown[] = [botId, alias, afterDate ?? null, beforeDate ?? null];
    const isSpanInOrder = rangeField === sortField || (afterDate === undefined && beforeDate === undefined);
    const isServed = conversationId === undefined && tags === undefined && isSpanInOrder;
    const isOfIntegration = isServed && alias !== null;
    const scope = `${isOfIntegration ? 'u.bot_id = $1' : inScope} AND u.id <> $1`;
    const { from, time, id } = await this.sourceOf(query, scope, values);
    const keyset = new Keyset<UserEntity>(
      [
        { sql: time, type: 'timestamptz', of: (row) => row[columns[sortField]] },
        { sql: id, type: 'text', of: (row) => row.id },
      ],
      sortDirection,
      isOfIntegration
        ? { sql: 'u.integration_alias', value: '$2', from: afterDate && '$3', to: beforeDate && '$4' }
        : undefined,
    );
    const page = `SELECT u.* FROM ${from} WHERE ${keyset.after(nextToken, boundTo, values)}
      ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`;
    const rows = isServed
      ? await this.database.query<UserEntity>(page, values)
      : await this.bounded.read<UserEntity>(page, values, narrowing);
    return keyset.page(rows, limit, boundTo);
  }

  private async insertBotUser(botId: string, sql: Sql): Promise<void> {
    await sql.query(
      `INSERT INTO "user" (bot_id, id, tags, properties, created_at, updated_at)
       SELECT $1, $1, '{}', '{}', now(), now()
       WHERE NOT EXISTS (SELECT FROM "user" WHERE bot_id = $1 AND id = $1) ON CONFLICT DO NOTHING`,
      [botId],
    );
  }

  /**
   * `$3` and `$4` are the bounds of the date range. For a conversation all participants are read: index
   * participant_pkey.
   */
  private async sourceOf(query: ListUsers, scope: string, values: unknown[]): Promise<RowSource> {
    const { conversationId, tags, sortField = 'createdAt', rangeField = 'createdAt' } = query;
    const orderBy = columns[sortField];
    const rows = `SELECT * FROM "user" u WHERE ${scope} AND ${isWithin(`u.${columns[rangeField]}`, [3, 4])}`;
    if (conversationId === undefined) {
      const createdWithin: [number, number] | undefined = rangeField === 'createdAt' ? [3, 4] : undefined;
      return taggedRows(this.database, { kind: 'user', as: 'u', rows, tags, orderBy, createdWithin }, values);
    }
    const ids = `SELECT user_id AS object_id FROM participant
      WHERE bot_id = $1 AND conversation_id = $${values.push(conversationId)}`;
    const tagged = tags ? `${rows} AND u.tags @> $${values.push(toJsonb(tags))}::jsonb` : rows;
    return { from: eachOf(ids, 'u', tagged), time: `u.${orderBy}`, id: 'u.id' };
  }
}

const columns = { createdAt: 'created_at', updatedAt: 'updated_at' } as const;
