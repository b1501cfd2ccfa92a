import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { chatApp } from '@parley/contracts/apps/chat';
import { chat } from '@parley/contracts/chat/chat';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { ChatConfig } from './config';
import { ConversationClockEntity } from './conversations/conversation-clock.entity';
import { ConversationEntity } from './conversations/conversation.entity';
import { ConversationsController } from './conversations/conversations.controller';
import { ConversationsRepository } from './conversations/conversations.repository';
import { ConversationsService } from './conversations/conversations.service';
import { ParticipantEntity } from './conversations/participant.entity';
import { ParticipantsController } from './conversations/participants.controller';
import { ParticipantsRepository } from './conversations/participants.repository';
import { ParticipantsService } from './conversations/participants.service';
import { Askers } from './endpoint/askers';
import { ChatConversationsService } from './endpoint/chat-conversations.service';
import { ChatEventsService } from './endpoint/chat-events.service';
import { ChatInstallations } from './endpoint/chat-installations';
import { ChatMessagesService } from './endpoint/chat-messages.service';
import { ChatParticipantsService } from './endpoint/chat-participants.service';
import { ChatUsersService } from './endpoint/chat-users.service';
import { EndpointController } from './endpoint/endpoint.controller';
import { EndpointRepository } from './endpoint/endpoint.repository';
import { UserKeys } from './endpoint/user-keys';
import { DroppedBotEntity, DroppedConversationEntity } from './erasure/dropped.entity';
import { EraseBotHandler } from './erasure/erase-bot.handler';
import { ErasureController } from './erasure/erasure.controller';
import { ErasureRepository } from './erasure/erasure.repository';
import { ErasureService } from './erasure/erasure.service';
import { DueEvents } from './events/due-events';
import { EventRetention } from './events/event-retention';
import { EventRetentionRepository } from './events/event-retention.repository';
import { EventEntity } from './events/event.entity';
import { EventsController } from './events/events.controller';
import { EventsRepository } from './events/events.repository';
import { EventsService } from './events/events.service';
import { MessagePartsRepository } from './events/message-parts.repository';
import { MessagePayloads } from './events/message-payloads';
import { BoundedReads } from './lists/bounded-reads';
import { MessageContents } from './messages/message-contents';
import { MessageEntity, ScheduledMessageEntity } from './messages/message.entity';
import { MessageImports } from './messages/message-imports';
import { MessageWriter } from './messages/message-writer';
import { MessagesController } from './messages/messages.controller';
import { MessagesRepository } from './messages/messages.repository';
import { MessagesService } from './messages/messages.service';
import { NewMessagesRepository } from './messages/new-messages.repository';
import { ScheduledMessages } from './messages/scheduled-messages';
import { ScheduledMessagesRepository } from './messages/scheduled-messages.repository';
import { Chat1795392000000 } from './migrations/1795392000000-chat';
import { KeepRecurringEventsHandler } from './recurring/keep-recurring-events.handler';
import { RecurringEventEntity, RecurringRevisionEntity } from './recurring/recurring-event.entity';
import { RecurringEvents } from './recurring/recurring-events';
import { RecurringEventsRepository } from './recurring/recurring-events.repository';
import { BotDefinitionsCache } from './bot-definitions/bot-definitions.cache';
import { SignalEntity } from './signals/signal.entity';
import { SignalPartitions } from './signals/signal-partitions';
import { SignalPartitionsRepository } from './signals/signal-partitions.repository';
import { SignalsController } from './signals/signals.controller';
import { SignalsRepository } from './signals/signals.repository';
import { SignalsService } from './signals/signals.service';
import { ExpiredStatesService } from './states/expired-states.service';
import { StateEntity } from './states/state.entity';
import { StatesController } from './states/states.controller';
import { StatesRepository } from './states/states.repository';
import { StatesService } from './states/states.service';
import { TagEntity } from './tags/tag.entity';
import { TagValuesRepository } from './tags/tag-values.repository';
import { TagsController } from './tags/tags.controller';
import { TagsRepository } from './tags/tags.repository';
import { TagsService } from './tags/tags.service';
import { UserEntity } from './users/user.entity';
import { UsersController } from './users/users.controller';
import { UsersRepository } from './users/users.repository';
import { UsersService } from './users/users.service';
import { EndedWorkflowsService } from './workflows/ended-workflows.service';
import { WorkflowEvents } from './workflows/workflow-events';
import { WorkflowEntity } from './workflows/workflow.entity';
import { WorkflowsController } from './workflows/workflows.controller';
import { WorkflowsRepository } from './workflows/workflows.repository';
import { WorkflowsService } from './workflows/workflows.service';

export const chatDatabase: ServiceSchema = {
  schema: 'chat',
  migrations: [Chat1795392000000],
  entities: [
    ...eventEntities,
    IdempotencyKeyEntity,
    ConversationClockEntity,
    ConversationEntity,
    DroppedBotEntity,
    DroppedConversationEntity,
    EventEntity,
    MessageEntity,
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

/** Users, conversations, messages, states, events and workflows of bots, and the chat endpoint of end users. */
@Module({})
export class ChatModule {
  static register(config: ChatConfig, platform: Platform): DynamicModule {
    return {
      module: ChatModule,
      imports: [
        ServiceModule.register(
          { name: 'chat', contract: chat, consumers: chatApp.consumes, database: { ...chatDatabase, config } },
          platform,
        ),
        TypeOrmModule.forFeature([UserEntity]),
      ],
      controllers: [
        ConversationsController,
        EndpointController,
        ErasureController,
        EventsController,
        MessagesController,
        ParticipantsController,
        SignalsController,
        StatesController,
        TagsController,
        UsersController,
        WorkflowsController,
        deadLettersController(chat.deadLetters),
        EraseBotHandler,
        KeepRecurringEventsHandler,
      ],
      providers: [
        { provide: ChatConfig, useValue: config },
        Askers,
        BotDefinitionsCache,
        BoundedReads,
        ChatConversationsService,
        ChatEventsService,
        ChatInstallations,
        ChatMessagesService,
        ChatParticipantsService,
        ChatUsersService,
        ConversationsRepository,
        ConversationsService,
        DueEvents,
        EndedWorkflowsService,
        EndpointRepository,
        ErasureRepository,
        ErasureService,
        EventRetention,
        EventRetentionRepository,
        EventsRepository,
        EventsService,
        ExpiredStatesService,
        MessageContents,
        MessageImports,
        MessagePartsRepository,
        MessagePayloads,
        MessageWriter,
        MessagesRepository,
        MessagesService,
        NewMessagesRepository,
        ParticipantsRepository,
        ParticipantsService,
        RecurringEvents,
        RecurringEventsRepository,
        ScheduledMessages,
        ScheduledMessagesRepository,
        SignalPartitions,
        SignalPartitionsRepository,
        SignalsRepository,
        SignalsService,
        StatesRepository,
        StatesService,
        TagValuesRepository,
        TagsRepository,
        UserKeys,
        TagsService,
        UsersRepository,
        UsersService,
        WorkflowEvents,
        WorkflowsRepository,
        WorkflowsService,
      ],
    };
  }
}
