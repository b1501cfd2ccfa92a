import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { hasPermission, type WorkspaceCaller } from '@parley/contracts/access';
import {
  type BotId,
  type BotReply,
  type Bots,
  botDeleted,
  type CreateBot,
  type ListBots,
} from '@parley/contracts/admin/bots';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { notFound } from '@parley/contracts/errors';
import { Database } from '@parley/database/database';
import { Outbox } from '@parley/outbox/outbox';
import { SecretBox } from '@parley/secrets/secret-box';
import { type BotRow, toBot, toBotEntry } from './bot.entity';
import { BotsRepository } from './bots.repository';

@Injectable()
export class BotsService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly outbox: Outbox,
    private readonly box: SecretBox,
    private readonly bus: Bus,
  ) {}

  async create(caller: WorkspaceCaller, input: CreateBot): Promise<BotReply> {
    const secrets = Object.entries(input.secrets ?? {}).map(([name, value]) => [name, this.box.seal(value)]);
    const row = await this.bots.create(input, {
      workspaceId: caller.workspace.id,
      createdBy: caller.account?.id ?? null,
      name: input.name ?? `bot-${randomBytes(4).toString('hex')}`,
      signingSecret: this.box.seal(randomBytes(32).toString('hex')),
      secrets: Object.fromEntries(secrets) as Record<string, string>,
    });
    return this.reply(caller, row);
  }

  async get(caller: WorkspaceCaller, { id }: BotId): Promise<BotReply> {
    const row = await this.bots.find(caller.workspace.id, id);
    // A bot key reads its own bot and no other one of the workspace.
    if (!row || (caller.bot && caller.bot.id !== id)) throw notFound('bot', id);
    return this.reply(caller, row);
  }

  async list({ workspace }: WorkspaceCaller, query: ListBots): Promise<Bots> {
    const { rows, nextToken } = await this.bots.list(workspace.id, query);
    return { bots: rows.map(toBotEntry), meta: { nextToken } };
  }

  async delete({ workspace }: WorkspaceCaller, { id }: BotId) {
    await this.database.transaction(async (tx) => {
      if (!(await this.bots.delete(tx, workspace.id, id))) throw notFound('bot', id);
      await this.outbox.add(tx, botDeleted, { botId: id, workspaceId: workspace.id });
    });
    this.bus.broadcast(credentialsChanged, { reason: `bot ${id} was deleted` });
    return {};
  }

  private reply({ role }: WorkspaceCaller, row: BotRow): BotReply {
    const maySeeSecret = role !== undefined && hasPermission(role, 'write');
    return { bot: toBot(row, maySeeSecret ? this.box.open(row.signing_secret) : '') };
  }
}
