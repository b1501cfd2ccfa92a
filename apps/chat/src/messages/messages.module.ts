import { Module } from '@nestjs/common';
import { ConversationsModule } from '../conversations/conversations.module';
import { ListQueriesModule } from '../list-queries/list-queries.module';
import { OutgoingChangesModule } from '../outgoing-changes/outgoing-changes.module';
import { PendingEventsModule } from '../pending-events/pending-events.module';
import { SignalsModule } from '../signals/signals.module';
import { TagsModule } from '../tags/tags.module';
import { MessageContentService } from './message-content.service';
import { MessageImportsService } from './message-imports.service';
import { MessageWriterService } from './message-writer.service';
import { MessagesController } from './messages.controller';
import { MessagesRepository } from './messages.repository';
import { MessagesService } from './messages.service';
import { NewMessagesRepository } from './new-messages.repository';
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
  ],
  controllers: [MessagesController],
  providers: [
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
