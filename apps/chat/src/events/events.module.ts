import { Module } from '@nestjs/common';
import { ListQueriesModule } from '../queries/list-queries.module';
import { PendingEventsModule } from '../announcements/pending-events.module';
import { EventRetentionRepository } from './event-retention.repository';
import { EventRetentionService } from './event-retention.service';
import { EventsController } from './events.controller';
import { EventsRepository } from './events.repository';
import { EventsService } from './events.service';
import { MessagePayloadsRepository } from './message-payloads.repository';
import { MessagePayloadsService } from './message-payloads.service';

@Module({
  imports: [ListQueriesModule, PendingEventsModule],
  controllers: [EventsController],
  providers: [
    EventsService,
    EventsRepository,
    EventRetentionService,
    EventRetentionRepository,
    MessagePayloadsService,
    MessagePayloadsRepository,
  ],
  exports: [EventsRepository],
})
export class EventsModule {}
