import { Module } from '@nestjs/common';
import { ConversationsModule } from '../conversations/conversations.module';
import { ChatParticipantsController } from './chat-participants.controller';
import { ChatParticipantsRepository } from './chat-participants.repository';
import { ChatParticipantsService } from './chat-participants.service';
import { ChatPrincipalsModule } from './chat-principals.module';

@Module({
  imports: [ChatPrincipalsModule, ConversationsModule],
  controllers: [ChatParticipantsController],
  providers: [ChatParticipantsService, ChatParticipantsRepository],
})
export class ChatParticipantsModule {}
