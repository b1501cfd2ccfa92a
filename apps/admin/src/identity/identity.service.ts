import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { hasPermission } from '@parley/contracts/access';
import type { AccountAndBot, Identify, Identity, RoleInBot } from '@parley/contracts/admin/identity';
import { ApiError } from '@parley/contracts/errors';
import { hashToken, operatorToken } from '@parley/secrets/token';
import { AdminConfig } from '../config';
import { namedInstallation } from './named-installation';
import { IdentityRepository, type TokenHolder } from './identity.repository';

/** Turns a credential and the context headers into a caller, or says why not. */
@Injectable()
export class IdentityService {
  private readonly operatorHash: string;

  constructor(
    private readonly identities: IdentityRepository,
    config: AdminConfig,
  ) {
    this.operatorHash = hashToken(operatorToken(config.secretKey));
  }

  async identify(input: Identify): Promise<Identity> {
    if (input.kind === 'operator') return this.identifyOperator(input);
    const holder = await this.identities.find(input);
    if (!holder || holder.kind !== input.kind) throw unauthorized();
    const identity = identifiers[holder.kind](holder, input);
    const { caller } = identity;
    if (caller.bot) caller.integration = namedInstallation(holder, input, caller.role);
    // Users are owned by a service that this version does not have yet: none can be named.
    if (input.userId !== undefined)
      throw new ApiError('Forbidden', `x-user-id "${input.userId}" is not a user of this bot.`);
    return identity;
  }

  async roleInBot({ accountId, botId }: AccountAndBot): Promise<RoleInBot> {
    return { role: (await this.identities.findRoleInBot(accountId, botId)) ?? null };
  }

  private identifyOperator({ tokenHash }: Identify): Identity {
    if (!timingSafeEqual(Buffer.from(this.operatorHash), Buffer.from(tokenHash))) throw unauthorized();
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
        workspace: workspaceId === undefined ? undefined : { id: workspaceId },
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
  if (holder.isBotBlocked) throw new ApiError('Forbidden', 'The bot of this key is blocked.');
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
  // A bot that has not installed it is to this key as none.
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

/** The same words for what does not exist and for what belongs to somebody else. */
function forbiddenHeader(header: string, value: string): ApiError {
  return new ApiError('Forbidden', `${header} "${value}" names nothing that this token may use.`);
}
