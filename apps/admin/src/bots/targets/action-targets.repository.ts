import { Injectable } from '@nestjs/common';
import type { ActionDefinition } from '@parley/contracts/definition';
import { Database } from '@parley/persistence/database';
import type { InstallationRow } from '../installations/installation.entity';

export interface InstalledRow extends Pick<InstallationRow, 'integration_id' | 'enabled' | 'status' | 'status_reason'> {
  name: string;
}

@Injectable()
export class ActionTargetsRepository {
  constructor(private readonly database: Database) {}

  /** Primary key. */
  findActionOfBot(botId: string, name: string): Promise<ActionDefinition | undefined> {
    return this.findAction(`SELECT definition -> 'actions' -> $2::text AS action FROM bot WHERE id = $1`, [
      botId,
      name,
    ]);
  }

  /** Primary key. Enabled plugins only. */
  findActionOfPlugin(botId: string, alias: string, name: string): Promise<ActionDefinition | undefined> {
    return this.findAction(
      `SELECT definition -> 'actions' -> $3::text AS action FROM bot_plugin
       WHERE bot_id = $1 AND alias = $2 AND enabled`,
      [botId, alias, name],
    );
  }

  /** Primary key. */
  async findInstallation(botId: string, alias: string): Promise<InstalledRow | undefined> {
    const [row] = await this.database.query<InstalledRow>(
      `SELECT integration_id, enabled, status, status_reason, summary ->> 'name' AS name FROM installation WHERE bot_id = $1 AND alias = $2`,
      [botId, alias],
    );
    return row;
  }

  private async findAction(statement: string, values: string[]): Promise<ActionDefinition | undefined> {
    const [row] = await this.database.query<{ action: ActionDefinition | null }>(statement, values);
    return row?.action ?? undefined;
  }
}
