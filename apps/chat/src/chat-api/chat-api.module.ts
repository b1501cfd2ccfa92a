import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConversationEntity } from '../conversations/conversation.entity';
import { ConversationsModule } from '../conversations/conversations.module';
import { EventsModule } from '../events/events.module';
import { MessagesModule } from '../messages/messages.module';
import { SignalsModule } from '../signals/signals.module';
import { TagsModule } from '../tags/tags.module';
import { UsersModule } from '../users/users.module';
import { ChatActionsController } from './chat-actions.controller';
import { ChatActionsRepository } from './chat-actions.repository';
import { ChatActionsService } from './chat-actions.service';
import { ChatConversationsController } from './chat-conversations.controller';
import { ChatConversationsRepository } from './chat-conversations.repository';
import { ChatConversationsService } from './chat-conversations.service';
import { ChatEventsController } from './chat-events.controller';
import { ChatEventsRepository } from './chat-events.repository';
import { ChatEventsService } from './chat-events.service';
import { ChatFilesController } from './chat-files.controller';
import { ChatFilesService } from './chat-files.service';
import { ChatInstallationsCache } from './chat-installations.cache';
import { ChatMessagesController } from './chat-messages.controller';
import { ChatMessagesRepository } from './chat-messages.repository';
import { ChatMessagesService } from './chat-messages.service';
import { ChatParticipantsController } from './chat-participants.controller';
import { ChatParticipantsRepository } from './chat-participants.repository';
import { ChatParticipantsService } from './chat-participants.service';
import { ChatPrincipalsController } from './chat-principals.controller';
import { ChatPrincipalsService } from './chat-principals.service';
import { ChatUsersController } from './chat-users.controller';
import { ChatUsersService } from './chat-users.service';
import { UserKeysService } from './user-keys.service';
import { ViewerLookupsRepository } from './viewer-lookups.repository';

/** Public API of the native chat for end users. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ConversationEntity]),
    ConversationsModule,
    EventsModule,
    MessagesModule,
    SignalsModule,
    TagsModule,
    UsersModule,
  ],
  controllers: [
    ChatActionsController,
    ChatConversationsController,
    ChatEventsController,
    ChatFilesController,
    ChatMessagesController,
    ChatParticipantsController,
    ChatPrincipalsController,
    ChatUsersController,
  ],
  providers: [
    ChatActionsRepository,
    ChatActionsService,
    ChatConversationsRepository,
    ChatConversationsService,
    ChatEventsRepository,
    ChatEventsService,
    ChatFilesService,
    ChatInstallationsCache,
    ChatMessagesRepository,
    ChatMessagesService,
    ChatParticipantsRepository,
    ChatParticipantsService,
    ChatPrincipalsService,
    ChatUsersService,
    UserKeysService,
    ViewerLookupsRepository,
  ],
})
export class ChatApiModule {}
