import { Controller } from '@nestjs/common';
import { admin } from '@parley/contracts/admin/admin';
import type { GetBotCode, GetBotSecrets } from '@parley/contracts/admin/bot-code';
import type { Caller } from '@parley/contracts/caller';
import { Handles } from '@parley/transport/handles';
import { BotCodeService } from './bot-code.service';

@Controller()
export class BotCodeController {
  constructor(private readonly service: BotCodeService) {}

  @Handles(admin.botCode.getPart)
  getPart(_caller: Caller, input: GetBotCode) {
    return this.service.getPart(input);
  }

  @Handles(admin.botCode.getSecrets)
  getSecrets(_caller: Caller, input: GetBotSecrets) {
    return this.service.getSecrets(input);
  }
}
