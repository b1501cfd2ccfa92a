import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { CreateBot, ListBots, UpdateBot } from '@parley/contracts/admin/bots';
import { Database, type Sql } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { tagConditions } from '@parley/persistence/tags';
import { visible } from '../../people/access/bot-visibility.repository';
import type { Viewer } from '../../people/access/viewer';
import { installedColumns } from '../installations/installations.repository';
import type { BotDefinition } from '../installations/bot-definition';
import { BotAllowedMemberEntity, BotEntity, type BotEntryRow, type BotRow, type LockedBotRow } from './bot.entity';

const entryColumns = 'id, name, type, tags, created_at, updated_at, deployed_at';
const columns = `${entryColumns}, workspace_id, version_id, url, blocked, description, dev, medias, max_execution_time, always_alive,
  definition, signing_secret,
  ARRAY(SELECT jsonb_object_keys(secrets)) AS secret_names, created_by, ${installedColumns},
  (SELECT coalesce(json_agg(recurring_failure), '[]') FROM recurring_failure WHERE bot_id = bot.id) AS failures`;

/** Strictly increasing, even when the clock stands still or goes back. */
export const touched = "updated_at = greatest(now(), bot.updated_at + interval '1 millisecond')";

interface NewBot {
  workspaceId: string;
  createdBy: string | null;
  name: string;
  /** Encrypted, like the values of `secrets`. */
  signingSecret: string;
  secrets: Record<string, string>;
  definition: BotDefinition;
}

interface ChangedBot {
  tags: Record<string, string>;
  definition: BotDefinition;
  /** Encrypted values by name. */
  secrets: Record<string, string>;
}

@Injectable()
export class BotsRepository {
  constructor(private readonly database: Database) {}

  async insertBot(tx: Sql, input: CreateBot, bot: NewBot): Promise<BotRow> {
    const [row] = await tx.query<BotRow>(
      `INSERT INTO bot (id, workspace_id, name, description, dev, type, url, tags, medias, max_execution_time, definition,
         signing_secret, secrets, created_by, deployed_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
         CASE WHEN $15 OR $7::text IS NOT NULL THEN now() END)
       RETURNING ${columns}`,
      [
        randomUUID(),
        bot.workspaceId,
        bot.name,
        input.description ?? null,
        input.dev ?? false,
        input.type ?? 'studio',
        input.url ?? null,
        JSON.stringify(input.tags ?? {}),
        JSON.stringify(input.medias ?? []),
        input.maxExecutionTime ?? null,
        JSON.stringify(bot.definition),
        bot.signingSecret,
        JSON.stringify(bot.secrets),
        bot.createdBy,
        input.code !== undefined,
      ],
    );
    return row!;
  }

  async findVisible({ workspaceId, accountId }: Viewer, id: string): Promise<BotRow | undefined> {
    const [row] = await this.database.query<BotRow>(`SELECT ${columns} FROM bot WHERE ${visible} AND id = $3`, [
      workspaceId,
      accountId,
      id,
    ]);
    return row;
  }

  /** Encrypted secrets by name. Primary key. */
  async findVisibleSecrets(
    { workspaceId, accountId }: Viewer,
    id: string,
  ): Promise<Pick<LockedBotRow, 'url' | 'secrets'> | undefined> {
    const [row] = await this.database.query<Pick<LockedBotRow, 'url' | 'secrets'>>(
      `SELECT url, secrets FROM bot WHERE ${visible} AND id = $3`,
      [workspaceId, accountId, id],
    );
    return row;
  }

  /** Row lock: blocks other changes of the bot until the transaction ends. */
  async lockVisible(tx: Sql, { workspaceId, accountId }: Viewer, id: string): Promise<LockedBotRow | undefined> {
    const [row] = await tx.query<LockedBotRow>(
      `SELECT ${columns}, secrets FROM bot WHERE ${visible} AND id = $3 FOR NO KEY UPDATE`,
      [workspaceId, accountId, id],
    );
    return row;
  }

  /** Needs the bot's row lock. */
  async updateLocked(tx: Sql, input: UpdateBot, changed: ChangedBot): Promise<BotRow> {
    const [row] = await tx.query<BotRow>(
      `UPDATE bot SET name = coalesce($2, name), description = coalesce($3, description), type = coalesce($4, type),
         url = CASE WHEN $5 THEN $6 ELSE url END, medias = coalesce($7, medias), layers = coalesce($8, layers),
         max_execution_time = coalesce($9, max_execution_time), authentication = coalesce($10, authentication),
         blocked = coalesce($11, blocked), always_alive = coalesce($12, always_alive), tags = $13,
         definition = $14, secrets = $15,
         deployed_at = CASE WHEN $16 OR $6::text IS NOT NULL THEN now() ELSE deployed_at END, ${touched}
       WHERE id = $1 RETURNING ${columns}`,
      [
        input.id,
        input.name ?? null,
        input.description ?? null,
        input.type ?? null,
        input.url !== undefined,
        input.url ?? null,
        input.medias ? JSON.stringify(input.medias) : null,
        input.layers ? JSON.stringify(input.layers) : null,
        input.maxExecutionTime ?? null,
        input.authentication ?? null,
        input.blocked ?? null,
        input.alwaysAlive ?? null,
        JSON.stringify(changed.tags),
        JSON.stringify(changed.definition),
        JSON.stringify(changed.secrets),
        input.code !== undefined,
      ],
    );
    return row!;
  }

  /** Increments the revision of the recurring events. Call it in the transaction that changes them. */
  async incrementRecurringEventsRevision(tx: Sql, id: string): Promise<number> {
    const [row] = await tx.query<{ revision: number }>(
      `UPDATE bot SET recurring_events_revision = recurring_events_revision + 1 WHERE id = $1
       RETURNING recurring_events_revision AS revision`,
      [id],
    );
    return row!.revision;
  }

  /** Also resets the allowlist to its default: open to all users of the workspace. The caller holds the locks of both workspaces. */
  async moveToWorkspace(tx: Sql, id: string, workspaceId: string): Promise<void> {
    await tx.manager.delete(BotAllowedMemberEntity, { bot_id: id });
    await tx.manager.update(BotEntity, { id }, { allowlist: 'ALL_WORKSPACE_USERS' });
    await tx.query(`UPDATE bot SET workspace_id = $2, ${touched} WHERE id = $1`, [id, workspaceId]);
  }

  /** Keeps the replaced secret valid until `formerValidUntil`. */
  async replaceSigningSecret(tx: Sql, id: string, sealed: string, formerValidUntil: Date): Promise<void> {
    await tx.query('DELETE FROM bot_former_signing_secret WHERE bot_id = $1 AND valid_until <= now()', [id]);
    await tx.query(
      `INSERT INTO bot_former_signing_secret (bot_id, secret, valid_until)
       SELECT id, signing_secret, $2 FROM bot WHERE id = $1`,
      [id, formerValidUntil],
    );
    await tx.query(`UPDATE bot SET signing_secret = $2, ${touched} WHERE id = $1`, [id, sealed]);
  }

  /** Excludes definitions, which may be large. Index bot_created or bot_updated. */
  async listVisible({ workspaceId, accountId }: Viewer, query: ListBots) {
    const { dev, tags, integrationNames, pluginNames, sortField = 'createdAt', sortDirection = 'desc' } = query;
    const keyset = new Keyset<BotEntryRow>(
      [
        sortField === 'createdAt'
          ? { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at }
          : { sql: 'updated_at', type: 'timestamptz', of: (row) => row.updated_at },
        { sql: 'id', type: 'text', of: (row) => row.id },
      ],
      sortDirection,
    );
    const limit = pageSize(query);
    const boundTo = [workspaceId, dev, tags, integrationNames, pluginNames];
    const values: unknown[] = [workspaceId, accountId, dev ?? null, integrationNames ?? null, pluginNames ?? null];
    const rows = await this.database.query<BotEntryRow>(
      `SELECT ${entryColumns} FROM bot
       WHERE ${visible} AND ($3::boolean IS NULL OR dev = $3)
         AND ($4::text[] IS NULL OR EXISTS (
           SELECT 1 FROM installation WHERE bot_id = bot.id AND summary ->> 'name' = ANY($4)))
         AND ($5::text[] IS NULL OR EXISTS (
           SELECT 1 FROM bot_plugin WHERE bot_id = bot.id AND summary ->> 'name' = ANY($5)))
         AND ${tagConditions('tags', tags, values)} AND ${keyset.after(query.nextToken, boundTo, values)}
       ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return keyset.page(rows, limit, boundTo);
  }

  /** Cascades to the bot's API keys and installations. */
  async deleteOfWorkspace(
    tx: Sql,
    workspaceId: string,
    id: string,
  ): Promise<{ name: string; revision: number } | undefined> {
    const [row] = await tx.query<{ name: string; revision: number }>(
      `DELETE FROM bot WHERE workspace_id = $1 AND id = $2
       RETURNING name, installation_revision AS revision`,
      [workspaceId, id],
    );
    return row;
  }
}
