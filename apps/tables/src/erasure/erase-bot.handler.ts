import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import { type BotDeleted, eraseBotInTables } from '@parley/contracts/admin/bots';
import { ErasureRepository } from './erasure.repository';

const keysAtOnce = 5_000;

/**
 * Makes all data of a deleted bot inaccessible; ErasureService erases it. Idempotent: each step removes
 * the remaining data.
 */
@Controller()
export class EraseBotHandler {
  constructor(private readonly erasure: ErasureRepository) {}

  @Consumes(eraseBotInTables)
  async handle({ botId }: BotDeleted): Promise<void> {
    await this.erasure.dropBot(botId);
    while ((await this.erasure.deleteIdempotencyKeys(botId, keysAtOnce)) > 0);
  }
}
