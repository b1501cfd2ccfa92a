import { Controller } from '@nestjs/common';
import { type BotDeleted, eraseBotInModels } from '@parley/contracts/admin/bots';
import { Consumes } from '@parley/transport/handles';
import { ErasureRepository } from './erasure.repository';

const rowsAtOnce = 5_000;

/** Erases the calls, answers and sums of a deleted bot. Idempotent. */
@Controller()
export class EraseBotHandler {
  constructor(private readonly erasure: ErasureRepository) {}

  @Consumes(eraseBotInModels)
  async handle({ botId }: BotDeleted): Promise<void> {
    await this.erasure.insertTombstone(botId);
    while ((await this.erasure.deleteRows(botId, rowsAtOnce)) > 0);
    await this.erasure.deleteSums(botId);
  }
}
