import { Controller } from '@nestjs/common';
import { type BotTargetChanged, noteComputingBot } from '@parley/contracts/admin/targets';
import { Consumes } from '@parley/transport/handles';
import { RecomputationService } from './recomputation.service';

@Controller()
export class NoteComputingBotHandler {
  constructor(private readonly recomputation: RecomputationService) {}

  /** Idempotent and independent of order: a revision that is not newer than the stored one changes nothing. */
  @Consumes(noteComputingBot)
  async handle(change: BotTargetChanged): Promise<void> {
    await this.recomputation.noteBot(change);
  }
}
