import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { NoteCalledBotHandler } from './announcements/note-called-bot.handler';
import { OutgoingChangesRepository } from './announcements/outgoing-changes.repository';
import { OutgoingChangesService } from './announcements/outgoing-changes.service';
import { PendingEventsRepository } from './announcements/pending-events.repository';
import { PendingEventsService } from './announcements/pending-events.service';
import { BotDefinitionsCache } from './bots/bot-definitions.cache';
import { EraseBotHandler } from './bots/erase-bot.handler';
import { ErasureController } from './bots/erasure.controller';
import { ErasureRepository } from './bots/erasure.repository';
import { ErasureService } from './bots/erasure.service';
import { ConversationsController } from './conversations/conversations.controller';
import { ConversationsRepository } from './conversations/conversations.repository';
import { ConversationsService } from './conversations/conversations.service';
import { ParticipantsRepository } from './conversations/participants.repository';
import { ParticipantsService } from './conversations/participants.service';
import { IncomingMessagesService } from './messages/incoming-messages.service';
import { MessageContentService } from './messages/message-content.service';
import { MessageImportsService } from './messages/message-imports.service';
import { MessageWriterService } from './messages/message-writer.service';
import { MessagesController } from './messages/messages.controller';
import { MessagesRepository } from './messages/messages.repository';
import { MessagesService } from './messages/messages.service';
import { NewMessagesRepository } from './messages/new-messages.repository';
import { ScheduledMessagesRepository } from './messages/scheduled-messages.repository';
import { ScheduledMessagesService } from './messages/scheduled-messages.service';
import { BoundedReadsService } from './queries/bounded-reads.service';
import { SignalsController } from './signals/signals.controller';
import { SignalsRepository } from './signals/signals.repository';
import { SignalsService } from './signals/signals.service';
import { TagsController } from './tags/tags.controller';
import { TagsRepository } from './tags/tags.repository';
import { TagsService } from './tags/tags.service';
import { UserEntity } from './users/user.entity';
import { UsersController } from './users/users.controller';
import { UsersRepository } from './users/users.repository';
import { UsersService } from './users/users.service';

/** Users, conversations and messages, with their tags and signals, and what is announced of them. */
@Module({
  imports: [TypeOrmModule.forFeature([UserEntity])],
  controllers: [
    UsersController,
    ConversationsController,
    MessagesController,
    TagsController,
    SignalsController,
    ErasureController,
    EraseBotHandler,
    NoteCalledBotHandler,
  ],
  providers: [
    UsersService,
    UsersRepository,
    ConversationsService,
    ConversationsRepository,
    ParticipantsService,
    ParticipantsRepository,
    MessagesService,
    MessagesRepository,
    MessageContentService,
    MessageWriterService,
    NewMessagesRepository,
    MessageImportsService,
    IncomingMessagesService,
    ScheduledMessagesService,
    ScheduledMessagesRepository,
    TagsService,
    TagsRepository,
    SignalsService,
    SignalsRepository,
    PendingEventsService,
    PendingEventsRepository,
    OutgoingChangesService,
    OutgoingChangesRepository,
    BotDefinitionsCache,
    ErasureService,
    ErasureRepository,
    BoundedReadsService,
  ],
  exports: [
    BotDefinitionsCache,
    BoundedReadsService,
    ConversationsRepository,
    ConversationsService,
    MessageWriterService,
    MessagesService,
    OutgoingChangesRepository,
    ParticipantsService,
    PendingEventsRepository,
    SignalsService,
    TagsRepository,
    UsersRepository,
    UsersService,
  ],
})
export class ConversationsModule {}
