import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { hasPermission, type WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type {
  BotId,
  BotReply,
  Bots,
  CreateBot,
  GetBot,
  ListBots,
  NewSigningSecret,
  UpdateBot,
} from '@parley/contracts/admin/bots';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { deployed } from '@parley/service/code-check.client';
import { SecretBox } from '@parley/secrets/secret-box';
import { newSigningSecret } from '@parley/secrets/signing-secret';
import { AuditRepository } from '../../people/access/audit.repository';
import { viewerOf } from '../../people/access/viewer';
import type { InstallationRow } from '../installations/installation.entity';
import { InstallationViewsService } from '../installations/installation-views.service';
import { withPlugins } from '../installations/merged-definition';
import { BotWritesService } from './bot-writes.service';
import { type BotRow, toBot, toBotEntry } from './bot.entity';
import { RegistrationsService } from '../registrations/registrations.service';
import { BotsRepository } from './bots.repository';

/** Less than the deadline of an update, in which code is checked before. */
const registeredWithinMs = admin.bots.update.timeoutMs - 5_000;
const formerSecretLifetimeMs = 24 * 60 * 60_000;

@Injectable()
export class BotsService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly writes: BotWritesService,
    private readonly installationViews: InstallationViewsService,
    private readonly registrations: RegistrationsService,
    private readonly audit: AuditRepository,
    private readonly box: SecretBox,
    private readonly client: ParleyClient,
  ) {}

  async create(caller: WorkspaceCaller, input: CreateBot): Promise<BotReply> {
    const { row, loadFailure } = await this.writes.create(caller, input);
    return deployed(this.reply(caller, row, input.byAlias), loadFailure);
  }

  async get(caller: WorkspaceCaller, { id, byAlias }: GetBot): Promise<BotReply> {
    const row = await this.bots.findVisible(viewerOf(caller), id);
    // A bot key may read its own bot only, not other bots of the workspace.
    if (row && (!caller.bot || caller.bot.id === id)) return this.reply(caller, row, byAlias);
    if (caller.credential === 'pat') throw notFound('bot', id);
    // Clients that look for a model go on to an older way of asking when a key is refused, and only then.
    throw new ApiError('Forbidden', `Bot "${id}" does not exist, or this API key may not read it.`);
  }

  async update(caller: WorkspaceCaller, input: UpdateBot): Promise<BotReply> {
    const registeredBy = performance.now() + registeredWithinMs;
    const { row, loadFailure } = await this.writes.update(caller, input);
    if (input.blocked !== undefined)
      this.client.broadcast(credentialsChanged, { reason: `bot ${input.id} was updated` });
    const registered = await this.registered(caller, input, row, registeredBy);
    return deployed(this.reply(caller, registered, input.byAlias), loadFailure);
  }

  async list(caller: WorkspaceCaller, query: ListBots): Promise<Bots> {
    const { rows, nextToken } = await this.bots.listVisible(viewerOf(caller), query);
    return { bots: rows.map(toBotEntry), meta: { nextToken } };
  }

  async rotateSigningSecret(caller: WorkspaceCaller, { id }: BotId): Promise<NewSigningSecret> {
    const secret = newSigningSecret();
    await this.database.transaction(async (tx) => {
      const bot = await this.bots.lockVisible(tx, viewerOf(caller), id);
      if (!bot) throw notFound('bot', id);
      const formerValidUntil = new Date(Date.now() + formerSecretLifetimeMs);
      await this.bots.replaceSigningSecret(tx, id, this.box.seal(secret), formerValidUntil);
      await this.audit.insertChange(tx, caller, {
        workspaceId: caller.workspace.id,
        action: 'UNKNOWN',
        operation: admin.bots.rotateSigningSecret,
        resourceId: id,
        resourceName: bot.name,
      });
    });
    return { newSigningSecret: secret };
  }

  /** The bot once its integrations have been notified of the change, or after 20 s, or at that time. */
  private async registered(
    caller: WorkspaceCaller,
    { id, integrations }: UpdateBot,
    row: BotRow,
    by: number,
  ): Promise<BotRow> {
    if (!integrations || !row.integrations.some(isPending)) return row;
    await this.registrations.settled(id, by - performance.now());
    return (await this.bots.findVisible(viewerOf(caller), id)) ?? row;
  }

  private reply(caller: WorkspaceCaller, row: BotRow, byAlias?: boolean): BotReply {
    const { role } = caller;
    const maySeeSecret = role !== undefined && hasPermission(role, 'write');
    const definition = withPlugins(row.definition, row.plugins);
    const installed = this.installationViews.show(caller, row, byAlias);
    return { bot: toBot(row, maySeeSecret ? this.box.open(row.signing_secret) : '', definition, installed) };
  }
}

function isPending({ enabled, is_callable, status }: InstallationRow): boolean {
  return enabled && is_callable && status === 'registration_pending';
}
