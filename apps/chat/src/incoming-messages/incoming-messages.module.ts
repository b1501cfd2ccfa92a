import { Module } from '@nestjs/common';
import { ConversationsModule } from '../conversations/conversations.module';
import { MessagesModule } from '../messages/messages.module';
import { UsersModule } from '../users/users.module';
import { IncomingMessagesController } from './incoming-messages.controller';
import { IncomingMessagesService } from './incoming-messages.service';

@Module({
  imports: [ConversationsModule, MessagesModule, UsersModule],
  controllers: [IncomingMessagesController],
  providers: [IncomingMessagesService],
})
export class IncomingMessagesModule {}
