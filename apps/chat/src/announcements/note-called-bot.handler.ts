import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import { type BotTargetChanged, noteCalledBot } from '@parley/contracts/admin/targets';
import { PendingEventsService } from './pending-events.service';

@Controller()
export class NoteCalledBotHandler {
  constructor(private readonly pending: PendingEventsService) {}

  /** Idempotent and independent of order: a revision that is not newer than the stored one changes nothing. */
  @Consumes(noteCalledBot)
  handle(change: BotTargetChanged): Promise<void> {
    return this.pending.noteTarget(change);
  }
}
