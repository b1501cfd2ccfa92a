import { Controller } from '@nestjs/common';
import { admin } from '@parley/contracts/admin/admin';
import type { RequireVisibleBot } from '@parley/contracts/admin/bot-visibility';
import type { Caller } from '@parley/contracts/caller';
import { Handles } from '@parley/transport/handles';
import { BotVisibilityService } from './bot-visibility.service';

@Controller()
export class BotVisibilityController {
  constructor(private readonly service: BotVisibilityService) {}

  @Handles(admin.botVisibility.require)
  require(caller: Caller, input: RequireVisibleBot) {
    return this.service.require(caller, input);
  }
}
