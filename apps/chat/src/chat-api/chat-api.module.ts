import { Module } from '@nestjs/common';
import { ChatActionsModule } from './chat-actions.module';
import { ChatConversationsModule } from './chat-conversations.module';
import { ChatEventsModule } from './chat-events.module';
import { ChatFilesModule } from './chat-files.module';
import { ChatMessagesModule } from './chat-messages.module';
import { ChatParticipantsModule } from './chat-participants.module';
import { ChatPrincipalsModule } from './chat-principals.module';
import { ChatUsersModule } from './chat-users.module';

/** Public API of the native chat for end users. */
@Module({
  imports: [
    ChatPrincipalsModule,
    ChatUsersModule,
    ChatConversationsModule,
    ChatParticipantsModule,
    ChatMessagesModule,
    ChatEventsModule,
    ChatFilesModule,
    ChatActionsModule,
  ],
})
export class ChatApiModule {}
