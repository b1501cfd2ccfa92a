import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type { FindWebhook, GetBotRuntime } from '@parley/contracts/admin/runtime';
import type { Caller } from '@parley/contracts/caller';
import { RuntimeService } from './runtime.service';

@Controller()
export class RuntimeController {
  constructor(private readonly service: RuntimeService) {}

  @Handles(admin.runtime.get)
  get(caller: Caller, input: GetBotRuntime) {
    return this.service.get(caller, input);
  }

  @Handles(admin.runtime.webhook)
  webhook(_caller: Caller, input: FindWebhook) {
    return this.service.webhook(input);
  }
}
