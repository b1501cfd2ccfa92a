import { Injectable } from '@nestjs/common';
import { Consumes } from '@parley/bus/handles';
import { type BotDeleted, eraseBotInChat } from '@parley/contracts/admin/bots';
import { SignalsService } from '../signals/signals.service';
import { ErasureService } from './erasure.service';

/**
 * Notes a deleted bot, whose rows are erased in the background, and ends its streams. Safe to repeat: a note that is there
 * stays as it is.
 */
@Injectable()
export class EraseBotHandler {
  constructor(
    private readonly erasure: ErasureService,
    private readonly signals: SignalsService,
  ) {}

  @Consumes(eraseBotInChat)
  async handle({ botId }: BotDeleted): Promise<void> {
    await this.erasure.dropBot(botId);
    this.signals.recheck(botId);
  }
}
