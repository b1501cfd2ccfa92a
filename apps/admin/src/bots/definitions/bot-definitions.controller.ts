import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type { FindWebhook, GetBotDefinition } from '@parley/contracts/admin/bot-definitions';
import type { Caller } from '@parley/contracts/caller';
import { BotDefinitionsService } from './bot-definitions.service';

@Controller()
export class BotDefinitionsController {
  constructor(private readonly service: BotDefinitionsService) {}

  @Handles(admin.botDefinitions.get)
  get(caller: Caller, input: GetBotDefinition) {
    return this.service.get(caller, input);
  }

  @Handles(admin.botDefinitions.findByWebhookId)
  findByWebhookId(_caller: Caller, input: FindWebhook) {
    return this.service.findByWebhookId(input);
  }
}
