import { Module } from '@nestjs/common';
import { AnalyticsController } from './analytics/analytics.controller';
import { AnalyticsRepository } from './analytics/analytics.repository';
import { AnalyticsService } from './analytics/analytics.service';
import { ModelUseRepository } from './analytics/model-use.repository';
import { RecordModelUseHandler } from './analytics/record-model-use.handler';
import { ConversationsModule } from './conversations.module';
import { DeliveriesController } from './deliveries/deliveries.controller';
import { DeliveriesRepository } from './deliveries/deliveries.repository';
import { DeliveriesService } from './deliveries/deliveries.service';
import { OutgoingMessagesRepository } from './deliveries/outgoing-messages.repository';
import { OutgoingMessagesService } from './deliveries/outgoing-messages.service';
import { SettleEventsHandler } from './deliveries/settle-events.handler';
import { EventRetentionRepository } from './events/event-retention.repository';
import { EventRetentionService } from './events/event-retention.service';
import { EventsController } from './events/events.controller';
import { EventsRepository } from './events/events.repository';
import { EventsService } from './events/events.service';
import { KeepRecurringEventsHandler } from './events/keep-recurring-events.handler';
import { RecurringEventsRepository } from './events/recurring-events.repository';
import { RecurringEventsService } from './events/recurring-events.service';
import { ExpiredStatesService } from './states/expired-states.service';
import { StatesController } from './states/states.controller';
import { StatesRepository } from './states/states.repository';
import { StatesService } from './states/states.service';
import { EndedWorkflowsService } from './workflows/ended-workflows.service';
import { ColumnWorkflowsService } from './workflows/column-workflows.service';
import { StartColumnWorkflowHandler } from './workflows/start-column-workflow.handler';
import { WorkflowContinuationsService } from './workflows/workflow-continuations.service';
import { WorkflowEventsService } from './workflows/workflow-events.service';
import { WorkflowReferencesService } from './workflows/workflow-references.service';
import { WorkflowsController } from './workflows/workflows.controller';
import { WorkflowsRepository } from './workflows/workflows.repository';
import { WorkflowsService } from './workflows/workflows.service';

/** Events of bots, their deliveries, workflows and states, and the figures of bots. */
@Module({
  imports: [ConversationsModule],
  controllers: [
    EventsController,
    KeepRecurringEventsHandler,
    DeliveriesController,
    SettleEventsHandler,
    WorkflowsController,
    StartColumnWorkflowHandler,
    StatesController,
    AnalyticsController,
    RecordModelUseHandler,
  ],
  providers: [
    EventsService,
    EventsRepository,
    EventRetentionService,
    EventRetentionRepository,
    RecurringEventsService,
    RecurringEventsRepository,
    DeliveriesService,
    DeliveriesRepository,
    OutgoingMessagesService,
    OutgoingMessagesRepository,
    WorkflowsService,
    WorkflowsRepository,
    WorkflowEventsService,
    WorkflowReferencesService,
    ColumnWorkflowsService,
    WorkflowContinuationsService,
    EndedWorkflowsService,
    StatesService,
    StatesRepository,
    ExpiredStatesService,
    AnalyticsService,
    AnalyticsRepository,
    ModelUseRepository,
  ],
  exports: [EventsRepository],
})
export class EventsModule {}
