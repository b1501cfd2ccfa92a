import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type { CountChatLeftovers } from '@parley/contracts/chat/leftovers';
import { ErasureService } from './erasure.service';

@Controller()
export class ErasureController {
  constructor(private readonly service: ErasureService) {}

  @Handles(chat.countLeftovers)
  countLeftovers(_caller: Caller, input: CountChatLeftovers) {
    return this.service.countLeftovers(input);
  }
}
