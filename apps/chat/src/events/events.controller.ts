import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type { CreateEvent, EventId, ListEvents } from '@parley/contracts/chat/events';
import { EventsService } from './events.service';

@Controller()
export class EventsController {
  constructor(private readonly service: EventsService) {}

  @Handles(chat.events.create)
  create(caller: BotCaller, input: CreateEvent) {
    return this.service.create(caller, input);
  }

  @Handles(chat.events.get)
  get(caller: BotCaller, input: EventId) {
    return this.service.get(caller, input);
  }

  @Handles(chat.events.list)
  list(caller: BotCaller, input: ListEvents) {
    return this.service.list(caller, input);
  }

  @Handles(chat.events.cancelScheduled)
  cancelScheduled(caller: BotCaller, input: EventId) {
    return this.service.cancelScheduled(caller, input);
  }
}
