import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { hasPermission, requirePermission, type WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import {
  type BotId,
  type BotReply,
  type Bots,
  botDeleted,
  botTransferred,
  type CreateBot,
  type GetBot,
  type ListBots,
  maxSecrets,
  type NewSigningSecret,
  type TransferBot,
  type UpdateBot,
} from '@parley/contracts/admin/bots';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { recurringEventsChanged } from '@parley/contracts/admin/bot-definitions';
import { mergeEntries } from '@parley/contracts/entries';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { SecretBox } from '@parley/secrets/secret-box';
import { newSigningSecret } from '@parley/secrets/signing-secret';
import { AuditRepository } from '../audit/audit.repository';
import { InstallationsService } from '../installations/installations.service';
import { withoutPlugins, withPlugins } from '../installations/merged-definition';
import { AdminConfig } from '../config';
import { QuotasService } from '../usage/quotas.service';
import { MembersRepository } from '../workspaces/members.repository';
import { BotAllowlistRepository } from './bot-allowlist.repository';
import { changeDefinition, checkDefinition, emptyDefinition, requireAtMost } from './bot-definition';
import { type BotRow, toBot, toBotEntry } from './bot.entity';
import { BotVersionsRepository } from './bot-versions.repository';
import { BotsRepository } from './bots.repository';
import { checkRecurringEvents, recurringBytes } from './recurring-limits';
import { viewerOf } from './viewer';

const maxTags = 1000;
const formerSecretLifetimeMs = 24 * 60 * 60_000;

@Injectable()
export class BotsService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly installations: InstallationsService,
    private readonly versions: BotVersionsRepository,
    private readonly allowlists: BotAllowlistRepository,
    private readonly members: MembersRepository,
    private readonly quotas: QuotasService,
    private readonly audit: AuditRepository,
    private readonly outbox: Outbox,
    private readonly box: SecretBox,
    private readonly client: ParleyClient,
    private readonly config: AdminConfig,
  ) {}

  async create(caller: WorkspaceCaller, input: CreateBot): Promise<BotReply> {
    checkDefinition(input);
    checkRecurringEvents(input.recurringEvents, this.config);
    const workspaceId = caller.workspace.id;
    const row = await this.database.transaction(async (tx) => {
      await this.quotas.admit(tx, workspaceId, 'bot_count');
      const created = await this.bots.create(tx, input, {
        workspaceId,
        createdBy: caller.account?.id ?? null,
        name: input.name ?? `bot-${randomBytes(4).toString('hex')}`,
        signingSecret: this.box.seal(newSigningSecret()),
        secrets: mergeEntries({}, this.sealed(input.secrets)),
        definition: changeDefinition(emptyDefinition, input),
      });
      if (input.code !== undefined) await this.versions.deployCode(tx, created.id, input.code);
      if (Object.keys(created.definition.recurringEvents).length > 0) await this.changeRecurringEvents(tx, created);
      await this.audit.add(tx, caller, {
        workspaceId,
        action: 'CREATE_BOT',
        operation: admin.bots.create,
        resourceId: created.id,
        resourceName: created.name,
      });
      return { ...created, ...(await this.installations.addChat(tx, created.id)) };
    });
    return this.reply(caller, row, input.byAlias);
  }

  async get(caller: WorkspaceCaller, { id, byAlias }: GetBot): Promise<BotReply> {
    const row = await this.bots.find(viewerOf(caller), id);
    // A bot key may read its own bot only, not other bots of the workspace.
    if (!row || (caller.bot && caller.bot.id !== id)) throw notFound('bot', id);
    return this.reply(caller, row, byAlias);
  }

  /** Runs under the bot's row lock: concurrent updates build on each other. */
  async update(caller: WorkspaceCaller, input: UpdateBot): Promise<BotReply> {
    checkDefinition(input);
    checkRecurringEvents(input.recurringEvents, this.config);
    const secrets = this.sealed(input.secrets);
    const row = await this.installations.change(caller, input.id, input, (prepared) =>
      this.database.transaction(async (tx) => {
        if (input.recurringEvents) await this.quotas.lock(tx, caller.workspace.id);
        const current = await this.bots.lock(tx, viewerOf(caller), input.id);
        if (!current) throw notFound('bot', input.id);
        const changed = {
          tags: mergeEntries(current.tags, input.tags),
          secrets: mergeEntries(current.secrets, secrets),
          definition: changeDefinition(
            current.definition,
            withoutPlugins(
              input,
              [...current.plugins, ...(prepared?.plugins ?? [])].map(({ alias }) => alias),
            ),
          ),
        };
        requireAtMost(maxTags, 'tags', changed.tags);
        requireAtMost(maxSecrets, 'secrets', changed.secrets);
        if (input.code !== undefined) await this.versions.deployCode(tx, input.id, input.code);
        if (prepared) await this.installations.apply(tx, caller, input.id, prepared);
        const updated = await this.bots.update(tx, input, changed);
        if (input.recurringEvents) await this.changeRecurringEvents(tx, updated);
        await this.audit.add(tx, caller, {
          workspaceId: caller.workspace.id,
          action: 'UPDATE_BOT',
          operation: admin.bots.update,
          resourceId: input.id,
          resourceName: updated.name,
          value: changedFields(input),
        });
        return updated;
      }),
    );
    if (input.blocked !== undefined)
      this.client.broadcast(credentialsChanged, { reason: `bot ${input.id} was updated` });
    return this.reply(caller, row, input.byAlias);
  }

  async list(caller: WorkspaceCaller, query: ListBots): Promise<Bots> {
    const { rows, nextToken } = await this.bots.list(viewerOf(caller), query);
    return { bots: rows.map(toBotEntry), meta: { nextToken } };
  }

  async delete(caller: WorkspaceCaller, { id }: BotId) {
    const { workspace } = caller;
    await this.database.transaction(async (tx) => {
      await this.quotas.lock(tx, workspace.id);
      const deleted = await this.bots.delete(tx, workspace.id, id);
      if (!deleted) throw notFound('bot', id);
      await this.audit.add(tx, caller, {
        workspaceId: workspace.id,
        action: 'DELETE_BOT',
        operation: admin.bots.delete,
        resourceId: id,
        resourceName: deleted.name,
      });
      await this.quotas.recount(tx, workspace.id, 'bot_count');
      await this.outbox.add(tx, botDeleted, { botId: id, workspaceId: workspace.id });
      await this.installations.announceNone(tx, { id, workspaceId: workspace.id, revision: deleted.revision });
    });
    this.client.broadcast(credentialsChanged, { reason: `bot ${id} was deleted` });
    return {};
  }

  /** Resets the allowlist to all users of the target workspace, and drops cached identities on every gateway. */
  async transfer(caller: WorkspaceCaller, { id, targetWorkspaceId }: TransferBot) {
    const sourceId = caller.workspace.id;
    if (targetWorkspaceId === sourceId) {
      throw new ApiError(
        'InvalidPayload',
        'targetWorkspaceId: the bot is in this workspace already. Name another workspace.',
      );
    }
    if (!(await this.bots.has(viewerOf(caller), id))) throw notFound('bot', id);
    await this.database.transaction(async (tx) => {
      const role = await this.members.findRole(tx, caller.account?.id, targetWorkspaceId);
      if (!role) {
        throw new ApiError(
          'ReferenceNotFound',
          `targetWorkspaceId: you are not a member of workspace "${targetWorkspaceId}".`,
        );
      }
      requirePermission(role, 'write');
      await this.quotas.lock(tx, sourceId, targetWorkspaceId);
      await this.members.requireRole(tx, caller, sourceId, 'administer');
      const bot = await this.bots.lock(tx, viewerOf(caller), id);
      if (!bot) throw notFound('bot', id);
      await this.allowlists.clear(tx, id);
      await this.quotas.transferBot(tx, id, sourceId, targetWorkspaceId);
      await this.bots.transfer(tx, id, targetWorkspaceId);
      await this.outbox.add(tx, botTransferred, { botId: id, workspaceId: targetWorkspaceId });
      for (const workspaceId of [sourceId, targetWorkspaceId]) {
        await this.audit.add(tx, caller, {
          workspaceId,
          action: 'TRANSFER_BOT',
          operation: admin.bots.transfer,
          resourceId: id,
          resourceName: bot.name,
          value: `from ${sourceId} to ${targetWorkspaceId}`,
        });
      }
    });
    this.client.broadcast(credentialsChanged, { reason: `bot ${id} was transferred` });
    return {};
  }

  async rotateSigningSecret(caller: WorkspaceCaller, { id }: BotId): Promise<NewSigningSecret> {
    const secret = newSigningSecret();
    await this.database.transaction(async (tx) => {
      const bot = await this.bots.lock(tx, viewerOf(caller), id);
      if (!bot) throw notFound('bot', id);
      const formerValidUntil = new Date(Date.now() + formerSecretLifetimeMs);
      await this.bots.rotateSigningSecret(tx, id, this.box.seal(secret), formerValidUntil);
      await this.audit.add(tx, caller, {
        workspaceId: caller.workspace.id,
        action: 'UNKNOWN',
        operation: admin.bots.rotateSigningSecret,
        resourceId: id,
        resourceName: bot.name,
      });
    });
    return { newSigningSecret: secret };
  }

  /** Needs the workspace lock. Throws QuotaExceeded when the payloads of the recurring events exceed the storage quota. */
  private async changeRecurringEvents(tx: Transaction, { id: botId, workspace_id, definition }: BotRow): Promise<void> {
    const bytes = recurringBytes(definition.recurringEvents, this.config);
    await this.quotas.reserveForRecurringEvents(tx, { botId, workspaceId: workspace_id, bytes });
    const revision = await this.bots.nextRecurringEventsRevision(tx, botId);
    await this.outbox.add(tx, recurringEventsChanged, { botId, revision });
  }

  private sealed(secrets: Record<string, string | null> = {}): Record<string, string | null> {
    return Object.fromEntries(
      Object.entries(secrets).map(([name, value]) => [name, value === null ? null : this.box.seal(value)]),
    );
  }

  private reply(caller: WorkspaceCaller, row: BotRow, byAlias?: boolean): BotReply {
    const { role } = caller;
    const maySeeSecret = role !== undefined && hasPermission(role, 'write');
    const definition = withPlugins(row.definition, row.plugins);
    const installed = this.installations.show(caller, row, byAlias);
    return { bot: toBot(row, maySeeSecret ? this.box.open(row.signing_secret) : '', definition, installed) };
  }
}

/** Contains field names only: values may be secret or large. */
function changedFields({ id: _id, byAlias: _byAlias, ...changes }: UpdateBot): string {
  return Object.keys(changes).sort().join(', ');
}
