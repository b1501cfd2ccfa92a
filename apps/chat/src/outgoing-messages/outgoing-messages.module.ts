import { Module } from '@nestjs/common';
import { OutgoingChangesModule } from '../outgoing-changes/outgoing-changes.module';
import { UsersModule } from '../users/users.module';
import { OutgoingMessagesController } from './outgoing-messages.controller';
import { OutgoingMessagesRepository } from './outgoing-messages.repository';
import { OutgoingMessagesService } from './outgoing-messages.service';

@Module({
  imports: [OutgoingChangesModule, UsersModule],
  controllers: [OutgoingMessagesController],
  providers: [OutgoingMessagesService, OutgoingMessagesRepository],
})
export class OutgoingMessagesModule {}
