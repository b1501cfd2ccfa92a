import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module';
import { SignalsModule } from '../signals/signals.module';
import { ChatEventsController } from './chat-events.controller';
import { ChatEventsRepository } from './chat-events.repository';
import { ChatEventsService } from './chat-events.service';
import { ChatPrincipalsModule } from './chat-principals.module';

@Module({
  imports: [ChatPrincipalsModule, EventsModule, SignalsModule],
  controllers: [ChatEventsController],
  providers: [ChatEventsService, ChatEventsRepository],
})
export class ChatEventsModule {}
