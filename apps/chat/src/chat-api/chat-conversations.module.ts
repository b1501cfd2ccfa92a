import { Module } from '@nestjs/common';
import { ConversationsModule } from '../conversations/conversations.module';
import { ChatConversationsController } from './chat-conversations.controller';
import { ChatConversationsRepository } from './chat-conversations.repository';
import { ChatConversationsService } from './chat-conversations.service';
import { ChatPrincipalsModule } from './chat-principals.module';

@Module({
  imports: [ChatPrincipalsModule, ConversationsModule],
  controllers: [ChatConversationsController],
  providers: [ChatConversationsService, ChatConversationsRepository],
})
export class ChatConversationsModule {}
