import { Controller } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import type { ListDeliveries, ListDeliveriesOfBot } from '@parley/contracts/runtime/deliveries';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Handles } from '@parley/transport/handles';
import { DeliveriesService } from './deliveries.service';

@Controller()
export class DeliveriesController {
  constructor(private readonly service: DeliveriesService) {}

  @Handles(runtime.deliveries.listOfBot)
  listOfBot({ bot }: BotCaller, input: ListDeliveriesOfBot) {
    return this.service.list({ ...input, botId: bot.id });
  }

  @Handles(runtime.deliveries.list)
  list(_caller: Caller, input: ListDeliveries) {
    return this.service.list(input);
  }
}
