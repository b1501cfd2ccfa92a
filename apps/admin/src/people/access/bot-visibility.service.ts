import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { RequireVisibleBot } from '@parley/contracts/admin/bot-visibility';
import type { Caller } from '@parley/contracts/caller';
import { notFound } from '@parley/contracts/errors';
import { BotVisibilityRepository } from './bot-visibility.repository';
import { viewerOf } from './viewer';

@Injectable()
export class BotVisibilityService {
  constructor(private readonly bots: BotVisibilityRepository) {}

  /** For services that hold data of bots: the caller is the one that the gateway has identified. */
  async require({ workspace, ...caller }: Caller, { botId }: RequireVisibleBot): Promise<object> {
    if (!workspace) throw notFound('bot', botId);
    await this.requireVisible({ ...caller, workspace }, botId);
    return {};
  }

  /** Throws ResourceNotFound for a bot that the caller does not see. */
  async requireVisible(caller: WorkspaceCaller, botId: string): Promise<void> {
    if (!(await this.bots.isVisible(viewerOf(caller), botId))) throw notFound('bot', botId);
  }
}
