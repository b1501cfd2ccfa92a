import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import type { RequireSharedWebhook, SharedWebhook } from '@parley/contracts/hub/shared-webhooks';
import { Handles } from '@parley/transport/handles';
import { SharedWebhooksService } from './shared-webhooks.service';

@Controller()
export class SharedWebhooksController {
  constructor(private readonly service: SharedWebhooksService) {}

  @Handles(hub.sharedWebhooks.require)
  require(_caller: Caller, input: RequireSharedWebhook) {
    return this.service.require(input);
  }

  @Handles(hub.sharedWebhooks.route)
  route(_caller: Caller, input: SharedWebhook) {
    return this.service.route(input);
  }

  @Handles(hub.sharedWebhooks.answer)
  answer(_caller: Caller, input: SharedWebhook) {
    return this.service.answer(input);
  }
}
