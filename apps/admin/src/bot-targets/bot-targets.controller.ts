import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type { GetActionTarget, GetBotTarget } from '@parley/contracts/admin/targets';
import type { Caller } from '@parley/contracts/caller';
import { ActionTargetsService } from './action-targets.service';
import { BotTargetsService } from './bot-targets.service';

@Controller()
export class BotTargetsController {
  constructor(
    private readonly service: BotTargetsService,
    private readonly actions: ActionTargetsService,
  ) {}

  @Handles(admin.targets.getBot)
  getBot(_caller: Caller, input: GetBotTarget) {
    return this.service.getBot(input);
  }

  @Handles(admin.targets.getAction)
  getAction(_caller: Caller, input: GetActionTarget) {
    return this.actions.getAction(input);
  }
}
