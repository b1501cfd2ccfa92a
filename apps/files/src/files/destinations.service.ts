import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { type BotCaller, hasPermission } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { RoleInBot } from '@parley/contracts/admin/identity';
import { ApiError } from '@parley/contracts/errors';
import { type StorageTarget, storageTargetOf } from './storage-target';

@Injectable()
export class DestinationsService {
  constructor(private readonly client: ParleyClient) {}

  /**
   * Destination bot: the caller's, or another that the account of a personal access token may write. Throws Forbidden.
   */
  async find(caller: BotCaller, botId: string | undefined): Promise<StorageTarget> {
    if (botId === undefined || botId === caller.bot.id) return storageTargetOf(caller);
    // Bot keys, integrations and users belong to one bot.
    const isFree = caller.account && !caller.user && caller.integration?.alias === undefined;
    if (!isFree) throw forbidden(botId);
    const { role, workspaceId, quotas } =
      caller.otherBot?.id === botId ? caller.otherBot : await this.askForRole(caller, botId);
    if (!role || !workspaceId || !hasPermission(role, 'write')) throw forbidden(botId);
    return { scope: { botId, namespace: '', owner: 'bot', ownerId: null }, workspaceId, quotas };
  }

  /** For a gateway or an admin of 0.2.0, which resolve no other bot. */
  private askForRole(caller: BotCaller, botId: string): Promise<RoleInBot> {
    return this.client.call(admin.identity.roleInBot, caller, { accountId: caller.account!.id, botId });
  }
}

/** Hides the existence of bots: the same error for a missing bot and a bot of another account. */
function forbidden(botId: string): ApiError {
  return new ApiError(
    'Forbidden',
    `x-destination-bot-id "${botId}": bot not found, or no write access with this token.`,
  );
}
