import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { CreateBot, ListBots, UpdateBot } from '@parley/contracts/admin/bots';
import { Database, type Sql } from '@parley/database/database';
import { Keyset, pageSize } from '@parley/database/keyset';
import { tagConditions } from '@parley/database/tags';
import { installedColumns } from '../installations/installations.repository';
import type { BotDefinition } from './bot-definition';
import type { BotEntryRow, BotRow, LockedBotRow } from './bot.entity';

const entryColumns = 'id, name, type, tags, created_at, updated_at, deployed_at';
const columns = `${entryColumns}, workspace_id, description, dev, medias, max_execution_time, always_alive,
  definition, signing_secret,
  ARRAY(SELECT jsonb_object_keys(secrets)) AS secret_names, created_by, ${installedColumns}`;

interface NewBot {
  workspaceId: string;
  createdBy: string | null;
  name: string;
  /** Encrypted, as are the values of `secrets`. */
  signingSecret: string;
  secrets: Record<string, string>;
  definition: BotDefinition;
}

/** What an update works out from what there was: whole maps, ready to be stored. */
interface ChangedBot {
  tags: Record<string, string>;
  definition: BotDefinition;
  /** Encrypted values by name. */
  secrets: Record<string, string>;
}

@Injectable()
export class BotsRepository {
  constructor(private readonly database: Database) {}

  async create(tx: Sql, input: CreateBot, bot: NewBot): Promise<BotRow> {
    const [row] = await tx.query<BotRow>(
      `INSERT INTO bot (id, workspace_id, name, description, dev, type, url, tags, medias, max_execution_time, definition,
         code, signing_secret, secrets, created_by, deployed_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
         CASE WHEN $12::text IS NOT NULL OR $7::text IS NOT NULL THEN now() END)
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
        input.code ?? null,
        bot.signingSecret,
        JSON.stringify(bot.secrets),
        bot.createdBy,
      ],
    );
    return row!;
  }

  async find(workspaceId: string, id: string): Promise<BotRow | undefined> {
    const [row] = await this.database.query<BotRow>(`SELECT ${columns} FROM bot WHERE workspace_id = $1 AND id = $2`, [
      workspaceId,
      id,
    ]);
    return row;
  }

  /** For as long as the transaction lasts nobody else changes the bot. */
  async lock(tx: Sql, workspaceId: string, id: string): Promise<LockedBotRow | undefined> {
    const [row] = await tx.query<LockedBotRow>(
      `SELECT ${columns}, secrets FROM bot WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE`,
      [workspaceId, id],
    );
    return row;
  }

  /** Of a locked bot. */
  async update(tx: Sql, input: UpdateBot, changed: ChangedBot): Promise<BotRow> {
    const [row] = await tx.query<BotRow>(
      `UPDATE bot SET name = coalesce($2, name), description = coalesce($3, description), type = coalesce($4, type),
         url = CASE WHEN $5 THEN $6 ELSE url END, medias = coalesce($7, medias), layers = coalesce($8, layers),
         max_execution_time = coalesce($9, max_execution_time), authentication = coalesce($10, authentication),
         blocked = coalesce($11, blocked), always_alive = coalesce($12, always_alive), code = coalesce($13, code),
         tags = $14, definition = $15, secrets = $16,
         deployed_at = CASE WHEN $6::text IS NOT NULL OR $13::text IS NOT NULL THEN now() ELSE deployed_at END,
         updated_at = greatest(now(), updated_at + interval '1 millisecond')
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
        input.code ?? null,
        JSON.stringify(changed.tags),
        JSON.stringify(changed.definition),
        JSON.stringify(changed.secrets),
      ],
    );
    return row!;
  }

  /** Without definitions, which may be large. Index bot_created or bot_updated. */
  async list(workspaceId: string, query: ListBots) {
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
    const values: unknown[] = [workspaceId, dev ?? null, integrationNames ?? null, pluginNames ?? null];
    const rows = await this.database.query<BotEntryRow>(
      `SELECT ${entryColumns} FROM bot
       WHERE workspace_id = $1 AND ($2::boolean IS NULL OR dev = $2)
         AND ($3::text[] IS NULL OR EXISTS (
           SELECT 1 FROM installation WHERE bot_id = bot.id AND summary ->> 'name' = ANY($3)))
         AND ($4::text[] IS NULL OR EXISTS (
           SELECT 1 FROM bot_plugin WHERE bot_id = bot.id AND summary ->> 'name' = ANY($4)))
         AND ${tagConditions('tags', tags, values)} AND ${keyset.after(query.nextToken, boundTo, values)}
       ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return keyset.page(rows, limit, boundTo);
  }

  /** Takes the bot's API keys and installations along. */
  async delete(tx: Sql, workspaceId: string, id: string): Promise<{ name: string; revision: number } | undefined> {
    const [row] = await tx.query<{ name: string; revision: number }>(
      `DELETE FROM bot WHERE workspace_id = $1 AND id = $2
       RETURNING name, installation_revision AS revision`,
      [workspaceId, id],
    );
    return row;
  }
}
