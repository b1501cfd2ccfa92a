import { Module } from '@nestjs/common';
import { MessagesModule } from '../messages/messages.module';
import { ChatMessagesController } from './chat-messages.controller';
import { ChatMessagesRepository } from './chat-messages.repository';
import { ChatMessagesService } from './chat-messages.service';
import { ChatPrincipalsModule } from './chat-principals.module';

@Module({
  imports: [ChatPrincipalsModule, MessagesModule],
  controllers: [ChatMessagesController],
  providers: [ChatMessagesService, ChatMessagesRepository],
})
export class ChatMessagesModule {}
