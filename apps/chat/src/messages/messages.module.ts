import { Module } from '@nestjs/common';
import { ConversationsModule } from '../conversations/conversations.module';
import { ListQueriesModule } from '../queries/list-queries.module';
import { OutgoingChangesModule } from '../announcements/outgoing-changes.module';
import { PendingEventsModule } from '../announcements/pending-events.module';
import { SignalsModule } from '../signals/signals.module';
import { TagsModule } from '../tags/tags.module';
import { UsersModule } from '../users/users.module';
import { IncomingMessagesController } from './incoming-messages.controller';
import { IncomingMessagesService } from './incoming-messages.service';
import { MessageContentService } from './message-content.service';
import { MessageImportsService } from './message-imports.service';
import { MessageWriterService } from './message-writer.service';
import { MessagesController } from './messages.controller';
import { MessagesRepository } from './messages.repository';
import { MessagesService } from './messages.service';
import { NewMessagesRepository } from './new-messages.repository';
import { OutgoingMessagesController } from '../deliveries/outgoing-messages.controller';
import { OutgoingMessagesRepository } from '../deliveries/outgoing-messages.repository';
import { OutgoingMessagesService } from '../deliveries/outgoing-messages.service';
import { ScheduledMessagesRepository } from './scheduled-messages.repository';
import { ScheduledMessagesService } from './scheduled-messages.service';

@Module({
  imports: [
    ConversationsModule,
    ListQueriesModule,
    OutgoingChangesModule,
    PendingEventsModule,
    SignalsModule,
    TagsModule,
    UsersModule,
  ],
  controllers: [MessagesController, IncomingMessagesController, OutgoingMessagesController],
  providers: [
    IncomingMessagesService,
    OutgoingMessagesRepository,
    OutgoingMessagesService,
    MessagesService,
    MessagesRepository,
    MessageContentService,
    MessageImportsService,
    MessageWriterService,
    NewMessagesRepository,
    ScheduledMessagesService,
    ScheduledMessagesRepository,
  ],
  exports: [MessagesService, MessageWriterService],
})
export class MessagesModule {}
