import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module';
import { MessagesModule } from '../messages/messages.module';
import { RecurringEventsModule } from '../recurring-events/recurring-events.module';
import { SignalsModule } from '../signals/signals.module';
import { StatesModule } from '../states/states.module';
import { WorkflowsModule } from '../workflows/workflows.module';
import { DueEventsWorker } from './due-events.worker';
import { EventRetentionWorker } from './event-retention.worker';
import { ExpiredStatesWorker } from './expired-states.worker';
import { RecurringEventsWorker } from './recurring-events.worker';
import { ScheduledMessagesWorker } from './scheduled-messages.worker';
import { SignalPartitionsWorker } from './signal-partitions.worker';
import { WorkflowTimeoutsWorker } from './workflow-timeouts.worker';

@Module({
  imports: [EventsModule, MessagesModule, RecurringEventsModule, SignalsModule, StatesModule, WorkflowsModule],
  providers: [
    DueEventsWorker,
    EventRetentionWorker,
    ExpiredStatesWorker,
    RecurringEventsWorker,
    ScheduledMessagesWorker,
    SignalPartitionsWorker,
    WorkflowTimeoutsWorker,
  ],
})
export class WorkersModule {}
