import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { InstallationEntity, ShareableIdEntity } from './installation.entity';

@Injectable()
export class ShareableIdsRepository {
  constructor(private readonly database: Database) {}

  async listAliasesOfIntegration(botId: string, integrationId: string): Promise<string[]> {
    const rows = await this.database.manager.find(InstallationEntity, {
      select: { alias: true },
      where: { bot_id: botId, integration_id: integrationId },
      order: { alias: 'ASC' },
    });
    return rows.map(({ alias }) => alias);
  }

  /** Replaces an existing id. Undefined when the installation is gone. */
  async replaceByAlias(tx: Transaction, botId: string, alias: string, hours: number): Promise<string | undefined> {
    const [row] = await tx.query<{ id: string }>(
      `INSERT INTO shareable_id (id, bot_id, alias, expires_at)
       SELECT $1, bot_id, alias, now() + make_interval(hours => $4) FROM installation
       WHERE bot_id = $2 AND alias = $3 FOR KEY SHARE
       ON CONFLICT (bot_id, alias) DO UPDATE SET id = excluded.id, expires_at = excluded.expires_at
       RETURNING id`,
      [newId('shareable'), botId, alias, hours],
    );
    return row?.id;
  }

  async findByAlias(botId: string, alias: string): Promise<{ id: string; isExpired: boolean } | undefined> {
    const [row] = await this.database.query<{ id: string; isExpired: boolean }>(
      'SELECT id, expires_at <= now() AS "isExpired" FROM shareable_id WHERE bot_id = $1 AND alias = $2',
      [botId, alias],
    );
    return row;
  }

  async deleteByAlias(tx: Transaction, botId: string, alias: string): Promise<boolean> {
    const { affected } = await tx.manager.delete(ShareableIdEntity, { bot_id: botId, alias });
    return affected === 1;
  }
}
