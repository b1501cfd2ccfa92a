import { Module } from '@nestjs/common';
import { NoteCalledBotHandler } from './note-called-bot.handler';
import { PendingEventsRepository } from './pending-events.repository';
import { PendingEventsService } from './pending-events.service';

@Module({
  controllers: [NoteCalledBotHandler],
  providers: [PendingEventsService, PendingEventsRepository],
  exports: [PendingEventsRepository],
})
export class PendingEventsModule {}
