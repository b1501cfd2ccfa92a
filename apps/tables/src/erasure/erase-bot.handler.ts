import { Injectable } from '@nestjs/common';
import { Consumes } from '@parley/bus/handles';
import { botDeleted, type BotDeleted } from '@parley/contracts/admin/bots';
import { ErasureRepository } from './erasure.repository';

/** Puts everything of a deleted bot out of reach; the sweeper erases it. Safe to repeat: each step removes what is there. */
@Injectable()
export class EraseBotHandler {
  constructor(private readonly erasure: ErasureRepository) {}

  @Consumes(botDeleted, { name: 'tables.eraseBot' })
  async handle({ botId }: BotDeleted): Promise<void> {
    await this.erasure.dropBot(botId);
  }
}
