import { Injectable } from '@nestjs/common';
import type { StateType } from '@parley/contracts/chat/states';
import { Database, type Sql } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { toJsonb } from '@parley/persistence/storable';
import { lockNext } from '@parley/persistence/lock-next';
import { isOf } from '../queries/scope';
import type { DueRows } from '@parley/persistence/due-rows';
import type { StateEntity } from './state.entity';

/**
 * Key of a state, and the viewer: with an alias, only conversations, users and workflows of that installation are
 * visible.
 */
export interface StateKey {
  botId: string;
  alias: string | null;
  type: StateType;
  ownerId: string;
  name: string;
}

export interface FoundState {
  hasOwner: boolean;
  /** An expired state is returned to no caller. */
  isExpired: boolean;
  row?: StateEntity;
}

/** Undefined fields remain unchanged. */
export interface StateChange {
  payload?: Record<string, unknown>;
  /** Rounded up to whole milliseconds. */
  expiryMs?: number | null;
}

const hasKey = 'state.bot_id = $1 AND state.type = $2 AND state.owner_id = $3 AND state.name = $4';
const isAlive = '(state.expires_at IS NULL OR state.expires_at > now())';
const ownerTables: Partial<Record<StateType, string>> = {
  conversation: 'conversation',
  user: '"user"',
  workflow: 'workflow',
};

/** Index state_expires. */
export const expiredStates: DueRows = {
  table: 'state',
  key: `concat_ws('/', type, owner_id, name)`,
  time: 'expires_at',
};

@Injectable()
export class StatesRepository {
  constructor(private readonly database: Database) {}

  async findState(key: StateKey): Promise<FoundState> {
    const values = valuesOf(key);
    const [found] = await this.database.query<RawFound>(
      `SELECT state.*, state.expires_at <= now() AS is_expired, EXISTS (${ownerOf(key, values)}) AS has_owner
       FROM (VALUES (1)) AS once LEFT JOIN state ON ${hasKey}`,
      values,
    );
    return toFound(found!);
  }

  /** Sliding expiry: a read restarts the expiry. */
  async findStateAndRenewExpiry(key: StateKey): Promise<FoundState> {
    const values = valuesOf(key);
    const [found] = await this.database.query<RawFound & { touched_until: Date | null }>(
      `WITH touched AS (
         UPDATE state SET expires_at = now() + expiry_ms * interval '1 millisecond'
         WHERE ${hasKey} AND expires_at > now()
         RETURNING expires_at)
       SELECT state.*, touched.expires_at AS touched_until, state.expires_at <= now() AS is_expired,
         EXISTS (${ownerOf(key, values)}) AS has_owner
       FROM (VALUES (1)) AS once LEFT JOIN state ON ${hasKey} LEFT JOIN touched ON true`,
      values,
    );
    const { touched_until, ...rest } = found!;
    return toFound({ ...rest, expires_at: touched_until ?? rest.expires_at });
  }

  /** Undefined if the state exists already or the owner does not. The owner row is locked against deletion. */
  async insertState(key: StateKey, { payload = {}, expiryMs = null }: StateChange): Promise<StateEntity | undefined> {
    const values: unknown[] = [...valuesOf(key), newId('state'), toJsonb(payload), wholeMs(expiryMs)];
    const [row] = await this.database.query<StateEntity>(
      `WITH owner AS (${ownerOf(key, values)} ${ownerTableOf(key) ? 'FOR KEY SHARE' : ''})
       INSERT INTO state (bot_id, type, owner_id, name, id, payload, expiry_ms, expires_at, created_at, updated_at)
       SELECT $1, $2, $3, $4, $5, $6, $7, now() + $7::bigint * interval '1 millisecond', now(), now() FROM owner
       ON CONFLICT DO NOTHING RETURNING *`,
      values,
    );
    return row;
  }

  /** Undefined if there is no live state, or if its payload is not the expected one (optimistic concurrency). */
  async updateState(
    key: StateKey,
    { payload, expiryMs }: StateChange,
    expected?: Record<string, unknown>,
  ): Promise<StateEntity | undefined> {
    const values: unknown[] = [
      ...valuesOf(key),
      payload && toJsonb(payload),
      expiryMs !== undefined,
      wholeMs(expiryMs),
    ];
    const expiry = 'CASE WHEN $6::boolean THEN $7::bigint ELSE state.expiry_ms END';
    const isExpected = expected ? `state.payload = $${values.push(toJsonb(expected))}::jsonb` : 'true';
    const [row] = await this.database.query<StateEntity>(
      `UPDATE state SET payload = coalesce($5::jsonb, payload), expiry_ms = ${expiry},
         expires_at = now() + ${expiry} * interval '1 millisecond',
         updated_at = greatest(now(), updated_at + interval '1 millisecond')
       WHERE ${hasKey} AND ${isAlive} AND ${isExpected} AND EXISTS (${ownerOf(key, values)})
       RETURNING *`,
      values,
    );
    return row;
  }

  async deleteState(key: StateKey): Promise<StateEntity | undefined> {
    const values = valuesOf(key);
    const [row] = await this.database.query<StateEntity>(
      `DELETE FROM state WHERE ${hasKey} AND ${isAlive} AND EXISTS (${ownerOf(key, values)}) RETURNING *`,
      values,
    );
    return row;
  }

  async deleteStateIfExpired(tx: Sql, key: StateKey): Promise<StateEntity[]> {
    return tx.query<StateEntity>(
      `DELETE FROM state WHERE ${hasKey} AND expires_at <= now() RETURNING *`,
      valuesOf(key),
    );
  }

  /** Deletes the states that expired first, skipping locked rows. Index state_expires. */
  async deleteExpiredStates(tx: Sql, limit: number): Promise<StateEntity[]> {
    return tx.query<StateEntity>(
      `WITH expired AS MATERIALIZED (
         ${lockNext({
           table: 'state',
           columns: 'bot_id, type, owner_id, name',
           where: 'expires_at <= now()',
           orderBy: 'expires_at',
           limit: '$1',
         })})
       DELETE FROM state USING expired
       WHERE state.bot_id = expired.bot_id AND state.type = expired.type AND state.owner_id = expired.owner_id
         AND state.name = expired.name
       RETURNING state.*`,
      [limit],
    );
  }
}

type RawFound = StateEntity & { is_expired: boolean | null; has_owner: boolean };

function valuesOf({ botId, type, ownerId, name }: StateKey): unknown[] {
  return [botId, type, ownerId, name];
}

function ownerOf(key: StateKey, values: unknown[]): string {
  const table = ownerTableOf(key);
  const { alias } = key;
  if (!table) return 'SELECT 1';
  const isSeen = alias === null ? 'true' : isOf(`$${values.push(alias)}`, 'owner');
  return `SELECT 1 FROM ${table} AS owner WHERE owner.bot_id = $1 AND owner.id = $3 AND ${isSeen}`;
}

/** Undefined for a bot, its own user and its installations: they exist, since the caller was authenticated for the bot. */
function ownerTableOf({ type, botId, ownerId }: StateKey): string | undefined {
  return type === 'user' && ownerId === botId ? undefined : ownerTables[type];
}

function toFound({ is_expired, has_owner, ...row }: RawFound): FoundState {
  const isExpired = is_expired === true;
  return { hasOwner: has_owner, isExpired, row: has_owner && !isExpired && row.id ? row : undefined };
}

function wholeMs(ms: number | null | undefined): number | null | undefined {
  return typeof ms === 'number' ? Math.ceil(ms) : ms;
}
