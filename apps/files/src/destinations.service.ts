import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { type BotCaller, hasPermission } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { ApiError } from '@parley/contracts/errors';
import { DeclarationsService, type Place } from './declarations.service';

/** Finds where a copy may go. */
@Injectable()
export class DestinationsService {
  constructor(
    private readonly bus: Bus,
    private readonly declarations: DeclarationsService,
  ) {}

  /** The caller's bot, or another one for whom the account of a personal token has the right. Throws Forbidden. */
  async find(caller: BotCaller, botId: string | undefined): Promise<Place> {
    if (botId === undefined || botId === caller.bot.id) return this.declarations.placeOf(caller);
    // A key, an integration and a user are of one bot.
    const isFree = caller.account && !caller.user && caller.integration?.alias === undefined;
    if (!isFree) throw forbidden(botId);
    const { role, workspaceId, quotas } = await this.bus.call(admin.identity.roleInBot, caller, {
      accountId: caller.account!.id,
      botId,
    });
    if (!role || !workspaceId || !hasPermission(role, 'write')) throw forbidden(botId);
    return { scope: { botId, namespace: '', owner: 'bot', ownerId: null }, workspaceId, quotas };
  }
}

/** The same words for what does not exist and for what belongs to somebody else. */
function forbidden(botId: string): ApiError {
  return new ApiError('Forbidden', `x-destination-bot-id "${botId}" names no bot that this token may write.`);
}
