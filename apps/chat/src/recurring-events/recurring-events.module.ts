import { Module } from '@nestjs/common';
import { BotDefinitionsModule } from '../bot-definitions/bot-definitions.module';
import { EventsModule } from '../events/events.module';
import { KeepRecurringEventsHandler } from './keep-recurring-events.handler';
import { RecurringEventsRepository } from './recurring-events.repository';
import { RecurringEventsService } from './recurring-events.service';

@Module({
  imports: [BotDefinitionsModule, EventsModule],
  controllers: [KeepRecurringEventsHandler],
  providers: [RecurringEventsService, RecurringEventsRepository],
  exports: [RecurringEventsService],
})
export class RecurringEventsModule {}
