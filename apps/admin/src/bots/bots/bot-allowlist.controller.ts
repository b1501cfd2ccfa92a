import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { AllowlistedBotId, UpdateBotAllowlist } from '@parley/contracts/admin/bot-allowlist';
import { BotAllowlistService } from './bot-allowlist.service';

@Controller()
export class BotAllowlistController {
  constructor(private readonly service: BotAllowlistService) {}

  @Handles(admin.botAllowlist.get)
  get(caller: WorkspaceCaller, input: AllowlistedBotId) {
    return this.service.get(caller, input);
  }

  @Handles(admin.botAllowlist.update)
  update(caller: WorkspaceCaller, input: UpdateBotAllowlist) {
    return this.service.update(caller, input);
  }
}
