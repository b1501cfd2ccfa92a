import { Module } from '@nestjs/common';
import { BotDefinitionsModule } from '../bots/bot-definitions.module';
import { EventsModule } from '../events/events.module';
import { ExpiredStatesService } from './expired-states.service';
import { StatesController } from './states.controller';
import { StatesRepository } from './states.repository';
import { StatesService } from './states.service';

@Module({
  imports: [BotDefinitionsModule, EventsModule],
  controllers: [StatesController],
  providers: [StatesService, StatesRepository, ExpiredStatesService],
})
export class StatesModule {}
