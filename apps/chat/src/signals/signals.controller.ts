import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type { CatchUp } from '@parley/contracts/chat/signals';
import { SignalsService } from './signals.service';

@Controller()
export class SignalsController {
  constructor(private readonly service: SignalsService) {}

  @Handles(chat.signals.catchUp)
  catchUp(_caller: Caller, input: CatchUp) {
    return this.service.catchUp(input);
  }
}
