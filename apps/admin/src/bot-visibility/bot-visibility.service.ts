import { Injectable } from '@nestjs/common';
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
    const isVisible = workspace && (await this.bots.isVisible(viewerOf({ ...caller, workspace }), botId));
    if (!isVisible) throw notFound('bot', botId);
    return {};
  }
}
