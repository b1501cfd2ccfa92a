import { Controller } from '@nestjs/common';
import { type BotDeleted, eraseBotInRuntime } from '@parley/contracts/admin/bots';
import { Consumes } from '@parley/transport/handles';
import { ErasureService } from './erasure.service';

@Controller()
export class EraseBotHandler {
  constructor(private readonly erasure: ErasureService) {}

  /** Idempotent: a bot that waits for its erasure is not added again. */
  @Consumes(eraseBotInRuntime)
  async handle({ botId }: BotDeleted): Promise<void> {
    await this.erasure.eraseBot(botId);
  }
}
