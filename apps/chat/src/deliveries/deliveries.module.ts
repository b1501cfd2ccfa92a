import { Module } from '@nestjs/common';
import { PendingEventsModule } from '../announcements/pending-events.module';
import { RecurringEventsModule } from '../events/recurring-events.module';
import { WorkflowsModule } from '../workflows/workflows.module';
import { DeliveriesController } from './deliveries.controller';
import { DeliveriesRepository } from './deliveries.repository';
import { DeliveriesService } from './deliveries.service';
import { SettleEventsHandler } from './settle-events.handler';

@Module({
  imports: [PendingEventsModule, RecurringEventsModule, WorkflowsModule],
  controllers: [DeliveriesController, SettleEventsHandler],
  providers: [DeliveriesService, DeliveriesRepository],
})
export class DeliveriesModule {}
