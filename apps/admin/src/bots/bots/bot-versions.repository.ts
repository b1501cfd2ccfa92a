import { hashText } from '@parley/background/text-hash';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Database, type Sql } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import type { Repository } from 'typeorm';
import { BotVersionEntity, type BotVersionRow } from './bot-version.entity';
import { BotEntity } from './bot.entity';
import { touched } from './bots.repository';

const maxVersions = 200;
const columns = 'bot_version.id, bot_version.name, bot_version.description';

/** Versions of bot code. Writing methods need the bot's row lock. */
@Injectable()
export class BotVersionsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(BotVersionEntity) private readonly versions: Repository<BotVersionEntity>,
  ) {}

  /** Deploys the code as a new version, unless the deployed version has the same code. Returns the deployed version. */
  async deployCode(tx: Sql, botId: string, code: string): Promise<string> {
    const hash = (await hashText(code)).toString('hex');
    const [deployed] = await tx.query<{ id: string }>(
      `SELECT bot_version.id FROM bot JOIN bot_version ON bot_version.id = bot.version_id
       WHERE bot.id = $1 AND bot_version.code_hash = $2`,
      [botId, hash],
    );
    if (deployed) return deployed.id;
    await tx.query('INSERT INTO bot_code (bot_id, hash, code) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      botId,
      hash,
      code,
    ]);
    const id = newId('botver');
    await tx.manager.insert(BotVersionEntity, { id, bot_id: botId, code_hash: hash, name: new Date().toISOString() });
    await tx.manager.update(BotEntity, { id: botId }, { version_id: id });
    await this.expireRuntimeKeys(tx, botId);
    await this.removeOldest(tx, botId);
    return id;
  }

  /** Creates a version from the deployed code. Undefined when the bot has no code. */
  async insertFromDeployedCode(
    tx: Sql,
    botId: string,
    { name, description }: { name: string; description?: string },
  ): Promise<BotVersionRow | undefined> {
    const [row] = await tx.query<BotVersionRow>(
      `INSERT INTO bot_version (id, bot_id, code_hash, name, description)
       SELECT $2, bot.id, deployed.code_hash, $3, $4
       FROM bot JOIN bot_version deployed ON deployed.id = bot.version_id WHERE bot.id = $1
       RETURNING ${columns}`,
      [botId, newId('botver'), name, description ?? null],
    );
    await this.removeOldest(tx, botId);
    return row;
  }

  async deployVersion(
    tx: Sql,
    botId: string,
    versionId: string,
  ): Promise<{ name: string; updated_at: Date } | undefined> {
    const [row] = await tx.query<{ name: string; updated_at: Date }>(
      `UPDATE bot SET version_id = bot_version.id, deployed_at = now(), ${touched} FROM bot_version
       WHERE bot.id = $1 AND bot_version.bot_id = bot.id AND bot_version.id = $2 RETURNING bot_version.name, bot.updated_at`,
      [botId, versionId],
    );
    if (row) await this.expireRuntimeKeys(tx, botId);
    return row;
  }

  /** Newest first. Index bot_version_position. */
  async listNewestOfBot(botId: string): Promise<BotVersionRow[]> {
    return this.versions.find({ where: { bot_id: botId }, order: { position: 'DESC' } });
  }

  async findDeployedId(botId: string): Promise<string | undefined> {
    const bots = this.versions.manager.getRepository(BotEntity);
    const bot = await bots.findOne({ select: { version_id: true }, where: { id: botId } });
    return bot?.version_id ?? undefined;
  }

  hasVersion(botId: string, id: string): Promise<boolean> {
    return this.versions.existsBy({ bot_id: botId, id });
  }

  async findCode(botId: string, id: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ code: string }>(
      `SELECT code FROM bot_version JOIN bot_code USING (bot_id)
       WHERE bot_version.bot_id = $1 AND bot_version.id = $2 AND bot_code.hash = bot_version.code_hash`,
      [botId, id],
    );
    return row?.code;
  }

  /** Keys of code that is no longer deployed are valid until the calls that run have ended. Index token_bot. */
  private async expireRuntimeKeys(tx: Sql, botId: string): Promise<void> {
    await tx.query('DELETE FROM token WHERE bot_id = $1 AND valid_until <= now()', [botId]);
    await tx.query(
      `UPDATE token SET valid_until = now() + interval '5 minutes' FROM bot
       WHERE bot.id = $1 AND token.bot_id = bot.id AND token.version_id <> bot.version_id AND valid_until IS NULL`,
      [botId],
    );
  }

  /** Retention: deletes the oldest versions above the limit, never the deployed one, and code that no version uses. */
  private async removeOldest(tx: Sql, botId: string): Promise<void> {
    const removed = await tx.query(
      `DELETE FROM bot_version WHERE id IN (
         SELECT bot_version.id FROM bot_version JOIN bot ON bot.id = bot_version.bot_id
         WHERE bot.id = $1 AND bot_version.id IS DISTINCT FROM bot.version_id ORDER BY position
         LIMIT (SELECT greatest(count(*) - ${maxVersions}, 0) FROM bot_version WHERE bot_id = $1)
       ) RETURNING 1`,
      [botId],
    );
    if (removed.length === 0) return;
    await tx.query(
      `DELETE FROM bot_code WHERE bot_id = $1 AND NOT EXISTS (
         SELECT 1 FROM bot_version WHERE bot_version.bot_id = $1 AND bot_version.code_hash = bot_code.hash)`,
      [botId],
    );
  }
}
