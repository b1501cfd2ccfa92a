import { Injectable } from '@nestjs/common';
import type { InstallationsChanged } from '@parley/contracts/admin/installations';
import type { Sql, Transaction } from '@parley/persistence/database';
import { InstallationEntity } from './installation.entity';

@Injectable()
export class InstallationsRepository {
  /** Index installation_entry. */
  async isInstalled(sql: Sql, kind: 'integration' | 'plugin', id: string): Promise<boolean> {
    return sql.manager.existsBy(InstallationEntity, { kind, entry_id: id });
  }

  /** Locks the bot's report. False for a revision that is not newer than the stored one. */
  async saveNewerReport(tx: Transaction, { botId, revision }: InstallationsChanged): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO installation_report (bot_id, revision) VALUES ($1, $2)
       ON CONFLICT (bot_id) DO UPDATE SET revision = excluded.revision
       WHERE installation_report.revision < excluded.revision RETURNING 1`,
      [botId, revision],
    );
    return rows.length > 0;
  }

  /** Replaces the bot's installations; returns the ids of its former integrations. */
  async replaceOfBot(tx: Transaction, { botId, integrations, plugins }: InstallationsChanged): Promise<string[]> {
    const before = await tx.query<{ kind: string; entry_id: string }>(
      'DELETE FROM installation WHERE bot_id = $1 RETURNING kind, entry_id',
      [botId],
    );
    await tx.manager.insert(InstallationEntity, [
      ...integrations.map(({ alias, id }) => ({ bot_id: botId, kind: 'integration', alias, entry_id: id }) as const),
      ...plugins.map(({ alias, id }) => ({ bot_id: botId, kind: 'plugin', alias, entry_id: id }) as const),
    ]);
    return before.filter(({ kind }) => kind === 'integration').map(({ entry_id }) => entry_id);
  }
}
