import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import { type BotDeleted, eraseBotInChat } from '@parley/contracts/admin/bots';
import { SignalsService } from '../signals/signals.service';
import { ErasureService } from './erasure.service';

/**
 * Queues the rows of a deleted bot for erasure and ends its streams. Idempotent: an existing queue entry is not
 * changed.
 */
@Controller()
export class EraseBotHandler {
  constructor(
    private readonly erasure: ErasureService,
    private readonly signals: SignalsService,
  ) {}

  @Consumes(eraseBotInChat)
  async handle({ botId }: BotDeleted): Promise<void> {
    await this.erasure.eraseBot(botId);
    this.signals.recheck(botId);
  }
}
