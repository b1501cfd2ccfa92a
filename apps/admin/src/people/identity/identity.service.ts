import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { hasPermission, notAnOperator } from '@parley/contracts/access';
import type { AccountAndBot, Identify, Identity, RoleInBot } from '@parley/contracts/admin/identity';
import type { Introspect, Introspection } from '@parley/contracts/admin/introspection';
import type { Caller, CallerQuotas, OtherBot } from '@parley/contracts/caller';
import { users } from '@parley/contracts/chat/users';
import { ApiError, forbiddenHeader, notFound } from '@parley/contracts/errors';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { hashToken, operatorToken } from '@parley/secrets/token';
import { AdminConfig } from '../../config';
import { OperatorsService } from './operators.service';
import { quotaOf } from '../usage/quota-amounts';
import { WorkspacesService } from '../workspaces/workspaces.service';
import { resolveInstallation } from './resolve-installation';
import { IdentityRepository, type TokenHolder } from './identity.repository';

/** Resolves a credential and the context headers to a caller, or throws Unauthorized or Forbidden. */
@Injectable()
export class IdentityService {
  private readonly operatorHashes: Buffer[];
  private readonly quotas: CallerQuotas;

  constructor(
    private readonly identities: IdentityRepository,
    private readonly client: ParleyClient,
    private readonly operators: OperatorsService,
    private readonly workspaces: WorkspacesService,
    keys: SecretKeys,
    config: AdminConfig,
  ) {
    this.operatorHashes = keys.map((key) => Buffer.from(hashToken(operatorToken(key))));
    this.quotas = {
      storage_count: quotaOf(config, 'storage_count'),
      knowledgebase_vector_storage: quotaOf(config, 'knowledgebase_vector_storage'),
    };
  }

  async identify(requester: Caller, input: Identify): Promise<Identity> {
    if (input.kind === 'operator') return this.identifyOperator(input);
    if (input.isForOperators) return this.identifyMemberOfOperators(input);
    const holder = await this.identities.findTokenHolder(input);
    if (!holder || holder.kind !== input.kind) throw unauthorized();
    const identity = identifiers[holder.kind](holder, input);
    const { caller } = identity;
    if (caller.bot) {
      caller.integration = resolveInstallation(holder, input, caller.role);
      caller.quotas = this.quotas;
    }
    if (input.otherBotId !== undefined) caller.otherBot = await this.findOtherBot(caller, input.otherBotId);
    if (input.isWorkspaceLabelled && caller.workspace)
      caller.workspace.label = await this.workspaces.label(caller.workspace);
    if (input.userId !== undefined) caller.user = await this.resolveUser(requester, caller.bot?.id, input.userId);
    return identity;
  }

  async roleInBot({ accountId, botId }: AccountAndBot): Promise<RoleInBot> {
    const found = await this.identities.findRoleInBot(accountId, botId);
    return found ? { ...found, quotas: this.quotas } : { role: null };
  }

  async introspect({ account, bot }: Caller, { botId }: Introspect): Promise<Introspection> {
    const row = await this.identities.findBotWithCreator(botId);
    const member = account && (await this.identities.findRoleInBot(account.id, botId));
    const mayRead = bot ? bot.id === botId : member && hasPermission(member.role, 'read');
    if (!row || !mayRead) throw notFound('bot', botId);
    return { workspaceId: row.workspace_id, botId, userId: account?.id ?? row.creator_id ?? '' };
  }

  /** Keys of bots and integrations have a role in no other bot. */
  private async findOtherBot({ account }: Identity['caller'], id: string): Promise<OtherBot> {
    return { id, ...(account ? await this.roleInBot({ accountId: account.id, botId: id }) : { role: null }) };
  }

  /** For a gateway of 0.2.0: later ones ask the chat service. Throws Forbidden unless the bot has this user. */
  private async resolveUser(requester: Caller, botId: string | undefined, userId: string): Promise<{ id: string }> {
    const isKnown = botId !== undefined && (await this.client.call(users.exists, requester, { botId, userId })).exists;
    if (!isKnown) throw new ApiError('Forbidden', `x-user-id "${userId}" is not a user of this bot.`);
    return { id: userId };
  }

  /** Throws Forbidden unless the account is a member of the operator's workspace, the only one that is looked at. */
  private async identifyMemberOfOperators({ tokenHash, kind }: Identify): Promise<Identity> {
    const workspaceId = await this.operators.findWorkspaceId();
    const holder = await this.identities.findTokenHolder({ tokenHash, kind, workspaceId });
    if (!holder || holder.kind !== 'pat' || kind !== 'pat') throw unauthorized();
    if (workspaceId === undefined || !holder.role) throw notAnOperator();
    return identifyAccount(holder, { tokenHash, kind, workspaceId });
  }

  private identifyOperator({ tokenHash }: Identify): Identity {
    const given = Buffer.from(tokenHash);
    if (!this.operatorHashes.some((hash) => timingSafeEqual(hash, given))) throw unauthorized();
    return { caller: { credential: 'operator' } };
  }
}

const identifiers = { pat: identifyAccount, bak: identifyBot, iak: identifyIntegration };

function identifyAccount(holder: TokenHolder, { workspaceId, botId }: Identify): Identity {
  const account = { id: holder.accountId ?? '', email: holder.email ?? '' };
  if (workspaceId !== undefined && !holder.role) throw forbiddenHeader('x-workspace-id', workspaceId);
  if (botId === undefined) {
    return {
      caller: {
        credential: 'pat',
        account,
        workspace: holder.workspaceId === null ? undefined : { id: holder.workspaceId },
        role: holder.role ?? undefined,
      },
    };
  }
  if (!holder.botId || !holder.botWorkspaceId || !holder.botRole) throw forbiddenHeader('x-bot-id', botId);
  if (!holder.isBotOpen && !hasPermission(holder.botRole, 'manage')) throw forbiddenHeader('x-bot-id', botId);
  if (workspaceId !== undefined && workspaceId !== holder.botWorkspaceId) throw forbiddenHeader('x-bot-id', botId);
  const workspace = { id: holder.botWorkspaceId };
  return {
    caller: {
      credential: 'pat',
      account,
      workspace,
      role: holder.botRole,
      bot: { id: holder.botId, workspaceId: workspace.id },
    },
  };
}

function identifyBot(holder: TokenHolder, { workspaceId, botId }: Identify): Identity {
  if (!holder.botId || !holder.botWorkspaceId) throw unauthorized();
  if (holder.isBotBlocked) throw new ApiError('Forbidden', 'The bot of this API key is blocked.');
  if (botId !== undefined && botId !== holder.botId) throw forbiddenHeader('x-bot-id', botId);
  if (workspaceId !== undefined && workspaceId !== holder.botWorkspaceId)
    throw forbiddenHeader('x-workspace-id', workspaceId);
  const workspace = { id: holder.botWorkspaceId };
  return { caller: { credential: 'bak', workspace, bot: { id: holder.botId, workspaceId: workspace.id } } };
}

function identifyIntegration(holder: TokenHolder, { workspaceId, botId }: Identify): Identity {
  const integration = { id: holder.integrationId ?? '' };
  if (botId === undefined) {
    const workspace = { id: holder.integrationWorkspaceId ?? '' };
    if (workspaceId !== undefined && workspaceId !== workspace.id) throw forbiddenHeader('x-workspace-id', workspaceId);
    return { caller: { credential: 'iak', workspace, integration } };
  }
  // Hides bots without this integration: same error as for a missing bot.
  const isInstalled = holder.installations.some(({ id }) => id === integration.id);
  if (!holder.botId || !holder.botWorkspaceId || !isInstalled) throw forbiddenHeader('x-bot-id', botId);
  const workspace = { id: holder.botWorkspaceId };
  if (workspaceId !== undefined && workspaceId !== workspace.id) throw forbiddenHeader('x-workspace-id', workspaceId);
  return {
    caller: { credential: 'iak', workspace, bot: { id: holder.botId, workspaceId: workspace.id }, integration },
  };
}

function unauthorized(): ApiError {
  return new ApiError('Unauthorized', 'The token in the Authorization header is unknown or was revoked.');
}
