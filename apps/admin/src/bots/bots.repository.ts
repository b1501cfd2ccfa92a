import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { CreateBot, ListBots } from '@parley/contracts/admin/bots';
import { Database, type Sql } from '@parley/database/database';
import { Keyset, pageSize } from '@parley/database/keyset';
import { tagConditions } from '@parley/database/tags';
import { type BotEntryRow, type BotRow, toDefinition } from './bot.entity';

const entryColumns = 'id, name, type, tags, created_at, updated_at, deployed_at';
const columns = `${entryColumns}, workspace_id, description, dev, medias, max_execution_time, definition, signing_secret,
  ARRAY(SELECT jsonb_object_keys(secrets)) AS secret_names, created_by`;

interface NewBot {
  workspaceId: string;
  createdBy: string | null;
  name: string;
  /** Encrypted, as are the values of `secrets`. */
  signingSecret: string;
  secrets: Record<string, string>;
}

@Injectable()
export class BotsRepository {
  constructor(private readonly database: Database) {}

  async create(input: CreateBot, bot: NewBot): Promise<BotRow> {
    const [row] = await this.database.query<BotRow>(
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
        JSON.stringify(toDefinition(input)),
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

  /** Without definitions, which may be large. Index bot_created or bot_updated. */
  async list(workspaceId: string, query: ListBots) {
    const { dev, tags, integrationNames, pluginNames, sortField = 'createdAt', sortDirection = 'desc' } = query;
    // No integration and no plugin can be installed yet: a bot that has one of them does not exist.
    if (integrationNames || pluginNames) return { rows: [] };
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
    const boundTo = [workspaceId, dev, tags];
    const values: unknown[] = [workspaceId, dev ?? null];
    const rows = await this.database.query<BotEntryRow>(
      `SELECT ${entryColumns} FROM bot
       WHERE workspace_id = $1 AND ($2::boolean IS NULL OR dev = $2)
         AND ${tagConditions('tags', tags, values)} AND ${keyset.after(query.nextToken, boundTo, values)}
       ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return keyset.page(rows, limit, boundTo);
  }

  /** Takes the bot's API keys along. */
  async delete(tx: Sql, workspaceId: string, id: string): Promise<boolean> {
    const rows = await tx.query('DELETE FROM bot WHERE workspace_id = $1 AND id = $2 RETURNING 1', [workspaceId, id]);
    return rows.length > 0;
  }
}
