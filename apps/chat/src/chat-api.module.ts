import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ChatActionsService } from './chat-api/chat-actions.service';
import { ChatApiController } from './chat-api/chat-api.controller';
import { ChatApiRepository } from './chat-api/chat-api.repository';
import { ChatConversationsService } from './chat-api/chat-conversations.service';
import { ChatEventsService } from './chat-api/chat-events.service';
import { ChatFilesService } from './chat-api/chat-files.service';
import { ChatInstallationsCache } from './chat-api/chat-installations.cache';
import { ChatMessagesService } from './chat-api/chat-messages.service';
import { ChatParticipantsService } from './chat-api/chat-participants.service';
import { ChatPrincipalsService } from './chat-api/chat-principals.service';
import { ChatUsersService } from './chat-api/chat-users.service';
import { UserKeysService } from './chat-api/user-keys.service';
import { ConversationsModule } from './conversations.module';
import { ConversationEntity } from './conversations/conversation.entity';
import { EventsModule } from './events.module';

/** Public API of the native chat for end users. */
@Module({
  imports: [TypeOrmModule.forFeature([ConversationEntity]), ConversationsModule, EventsModule],
  controllers: [ChatApiController],
  providers: [
    ChatApiRepository,
    ChatActionsService,
    ChatConversationsService,
    ChatEventsService,
    ChatFilesService,
    ChatInstallationsCache,
    ChatMessagesService,
    ChatParticipantsService,
    ChatPrincipalsService,
    ChatUsersService,
    UserKeysService,
  ],
})
export class ChatApiModule {}
