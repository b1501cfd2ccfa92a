import { type DynamicModule, Module } from '@nestjs/common';
import { chatApp } from '@parley/contracts/apps/chat';
import { chat, chatWorkAdded } from '@parley/contracts/chat/chat';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { workController } from '@parley/work-queue/work.controller';
import { WorkFailures1796900000000 } from '@parley/work-queue/migrations/1796900000000-work-failures';
import { WorkEntity } from '@parley/work-queue/work.entity';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { AnalyticsCountEntity } from './analytics/analytics-count.entity';
import { AnalyticsModule } from './analytics/analytics.module';
import { ObservationEntity } from './analytics/observation.entity';
import { ChatApiModule } from './chat-api/chat-api.module';
import { ChatConfig } from './config';
import { ConversationClockEntity } from './conversations/conversation-clock.entity';
import { ConversationEntity } from './conversations/conversation.entity';
import { ConversationsModule } from './conversations/conversations.module';
import { ParticipantEntity } from './conversations/participant.entity';
import { DeliveriesModule } from './deliveries/deliveries.module';
import { DroppedBotEntity } from './erasure/dropped-bot.entity';
import { ErasureModule } from './erasure/erasure.module';
import { EventEntity } from './events/event.entity';
import { EventsModule } from './events/events.module';
import { MessageEntity, ScheduledMessageEntity } from './messages/message.entity';
import { MessagesModule } from './messages/messages.module';
import { Chat1795392000000 } from './migrations/1795392000000-chat';
import { WorkQueue1796000000000 } from './migrations/1796000000000-work-queue';
import { Deliveries1796100000000 } from './migrations/1796100000000-deliveries';
import { Analytics1796200000000 } from './migrations/1796200000000-analytics';
import { RecurringOutcomes1796300000000 } from './migrations/1796300000000-recurring-outcomes';
import { OutgoingChanges1796600000000 } from './migrations/1796600000000-outgoing-changes';
import { ColumnWorkflows1797000000000 } from './migrations/1797000000000-column-workflows';
import { CalledBotEntity } from './pending-events/called-bot.entity';
import { OutgoingChangeEntity } from './outgoing-changes/outgoing-change.entity';
import { OutgoingChangesModule } from './outgoing-changes/outgoing-changes.module';
import { PendingEventsModule } from './pending-events/pending-events.module';
import { RecurringEventEntity, RecurringRevisionEntity } from './recurring-events/recurring-event.entity';
import { RecurringEventsModule } from './recurring-events/recurring-events.module';
import { SignalEntity } from './signals/signal.entity';
import { SignalsModule } from './signals/signals.module';
import { StateEntity } from './states/state.entity';
import { StatesModule } from './states/states.module';
import { TagEntity } from './tags/tag.entity';
import { TagsModule } from './tags/tags.module';
import { UserEntity } from './users/user.entity';
import { UsersModule } from './users/users.module';
import { WorkflowEntity } from './workflows/workflow.entity';
import { WorkflowsModule } from './workflows/workflows.module';

export const chatDatabase: ServiceSchema = {
  schema: 'chat',
  migrations: [
    Chat1795392000000,
    WorkQueue1796000000000,
    Deliveries1796100000000,
    Analytics1796200000000,
    RecurringOutcomes1796300000000,
    OutgoingChanges1796600000000,
    WorkFailures1796900000000,
    ColumnWorkflows1797000000000,
  ],
  entities: [
    ...eventEntities,
    WorkEntity,
    IdempotencyKeyEntity,
    AnalyticsCountEntity,
    CalledBotEntity,
    ConversationClockEntity,
    ConversationEntity,
    DroppedBotEntity,
    EventEntity,
    MessageEntity,
    ObservationEntity,
    OutgoingChangeEntity,
    ParticipantEntity,
    RecurringEventEntity,
    RecurringRevisionEntity,
    ScheduledMessageEntity,
    SignalEntity,
    StateEntity,
    TagEntity,
    UserEntity,
    WorkflowEntity,
  ],
};

/** Users, conversations, messages, states, events and workflows of bots, and the chat API of end users. */
@Module({})
export class ChatModule {
  static register(config: ChatConfig, platform: Platform): DynamicModule {
    return {
      module: ChatModule,
      imports: [
        ServiceModule.register(
          {
            name: 'chat',
            contract: chat,
            consumers: chatApp.consumes,
            database: { ...chatDatabase, config },
            workAdded: chatWorkAdded,
          },
          platform,
        ),
        ConfigModule.register(ChatConfig, config),
        UsersModule,
        ConversationsModule,
        MessagesModule,
        OutgoingChangesModule,
        AnalyticsModule,
        TagsModule,
        StatesModule,
        EventsModule,
        PendingEventsModule,
        DeliveriesModule,
        RecurringEventsModule,
        WorkflowsModule,
        SignalsModule,
        ErasureModule,
        ChatApiModule,
      ],
      controllers: [deadLettersController(chat.deadLetters), workController(chat.work)],
    };
  }
}
