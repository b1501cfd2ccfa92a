import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { runtime } from '@parley/contracts/runtime/runtime';
import type { ReceiveSharedWebhook, ReceiveWebhook, RequireWebhook } from '@parley/contracts/runtime/webhooks';
import { Handles } from '@parley/transport/handles';
import { WebhooksService } from './webhooks.service';

@Controller()
export class WebhooksController {
  constructor(private readonly service: WebhooksService) {}

  @Handles(runtime.webhooks.require)
  require(_caller: Caller, input: RequireWebhook) {
    return this.service.require(input);
  }

  @Handles(runtime.webhooks.receiveShared)
  receiveShared(caller: Caller, input: ReceiveSharedWebhook) {
    return this.service.receiveShared(caller, input);
  }

  @Handles(runtime.webhooks.receive)
  receive(caller: Caller, input: ReceiveWebhook) {
    return this.service.receive(caller, input);
  }
}
