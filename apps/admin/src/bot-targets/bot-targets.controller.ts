import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type { GetBotTarget } from '@parley/contracts/admin/targets';
import type { Caller } from '@parley/contracts/caller';
import { BotTargetsService } from './bot-targets.service';

@Controller()
export class BotTargetsController {
  constructor(private readonly service: BotTargetsService) {}

  @Handles(admin.targets.getBot)
  getBot(_caller: Caller, input: GetBotTarget) {
    return this.service.getBot(input);
  }
}
