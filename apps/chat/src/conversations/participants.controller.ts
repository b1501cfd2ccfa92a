import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type { AddParticipant, ListParticipants, ParticipantId } from '@parley/contracts/chat/conversations';
import { ParticipantsService } from './participants.service';

@Controller()
export class ParticipantsController {
  constructor(private readonly service: ParticipantsService) {}

  @Handles(chat.participants.list)
  list(caller: BotCaller, input: ListParticipants) {
    return this.service.list(caller, input);
  }

  @Handles(chat.participants.add)
  add(caller: BotCaller, input: AddParticipant) {
    return this.service.add(caller, input);
  }

  @Handles(chat.participants.get)
  get(caller: BotCaller, input: ParticipantId) {
    return this.service.get(caller, input);
  }

  @Handles(chat.participants.remove)
  remove(caller: BotCaller, input: ParticipantId) {
    return this.service.remove(caller, input);
  }
}
