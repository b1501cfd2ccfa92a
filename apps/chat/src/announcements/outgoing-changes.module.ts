import { Module } from '@nestjs/common';
import { BotDefinitionsModule } from '../bots/bot-definitions.module';
import { OutgoingChangesRepository } from './outgoing-changes.repository';
import { OutgoingChangesService } from './outgoing-changes.service';

@Module({
  imports: [BotDefinitionsModule],
  providers: [OutgoingChangesService, OutgoingChangesRepository],
  exports: [OutgoingChangesService, OutgoingChangesRepository],
})
export class OutgoingChangesModule {}
