import { Module } from '@nestjs/common';
import { BotDefinitionsModule } from '../bots/bot-definitions.module';
import { EventsModule } from './events.module';
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
