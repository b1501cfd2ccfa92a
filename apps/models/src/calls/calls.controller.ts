import { Controller } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { type ListModelCalls, modelCalls } from '@parley/contracts/models/calls';
import { Handles } from '@parley/transport/handles';
import { CallsService } from './calls.service';

@Controller()
export class CallsController {
  constructor(private readonly service: CallsService) {}

  @Handles(modelCalls.list)
  list({ bot }: BotCaller, input: ListModelCalls) {
    return this.service.list(bot.id, input);
  }
}
