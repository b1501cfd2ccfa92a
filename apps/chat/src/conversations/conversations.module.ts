import { Module } from '@nestjs/common';
import { BotDefinitionsModule } from '../bots/bot-definitions.module';
import { ListQueriesModule } from '../queries/list-queries.module';
import { OutgoingChangesModule } from '../announcements/outgoing-changes.module';
import { SignalsModule } from '../signals/signals.module';
import { TagsModule } from '../tags/tags.module';
import { UsersModule } from '../users/users.module';
import { ConversationsController } from './conversations.controller';
import { ConversationsRepository } from './conversations.repository';
import { ConversationsService } from './conversations.service';
import { ParticipantsController } from './participants.controller';
import { ParticipantsRepository } from './participants.repository';
import { ParticipantsService } from './participants.service';

@Module({
  imports: [BotDefinitionsModule, ListQueriesModule, OutgoingChangesModule, SignalsModule, TagsModule, UsersModule],
  controllers: [ConversationsController, ParticipantsController],
  providers: [ConversationsService, ConversationsRepository, ParticipantsService, ParticipantsRepository],
  exports: [ConversationsService, ConversationsRepository, ParticipantsService],
})
export class ConversationsModule {}
