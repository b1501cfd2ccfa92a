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
import { AnalyticsCountEntity, ModelUseEntity, ObservationEntity } from './analytics/analytics.entity';
import { ChatApiModule } from './chat-api.module';
import { ChatConfig } from './config';
import { ConversationsModule } from './conversations.module';
import { ConversationClockEntity, ConversationEntity, ParticipantEntity } from './conversations/conversation.entity';
import { CalledBotEntity, DroppedBotEntity } from './bots/bot.entity';
import { EventsModule } from './events.module';
import { EventEntity, RecurringEventEntity, RecurringRevisionEntity } from './events/event.entity';
import { MessageEntity, ScheduledMessageEntity } from './messages/message.entity';
import { Chat1795392000000 } from './migrations/1795392000000-chat';
import { WorkQueue1796000000000 } from './migrations/1796000000000-work-queue';
import { Deliveries1796100000000 } from './migrations/1796100000000-deliveries';
import { Analytics1796200000000 } from './migrations/1796200000000-analytics';
import { RecurringOutcomes1796300000000 } from './migrations/1796300000000-recurring-outcomes';
import { OutgoingChanges1796600000000 } from './migrations/1796600000000-outgoing-changes';
import { ColumnWorkflows1797000000000 } from './migrations/1797000000000-column-workflows';
import { ModelUse1797400000000 } from './migrations/1797400000000-model-use';
import { OutgoingChangeEntity } from './announcements/outgoing-change.entity';
import { SignalEntity } from './signals/signal.entity';
import { StateEntity } from './states/state.entity';
import { TagEntity } from './tags/tag.entity';
import { UserEntity } from './users/user.entity';
import { WorkflowEntity } from './workflows/workflow.entity';

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
    ModelUse1797400000000,
  ],
  entities: [
    ...eventEntities,
    WorkEntity,
    IdempotencyKeyEntity,
    AnalyticsCountEntity,
    ModelUseEntity,
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
        ConversationsModule,
        EventsModule,
        ChatApiModule,
      ],
      controllers: [deadLettersController(chat.deadLetters), workController(chat.work)],
    };
  }
}
