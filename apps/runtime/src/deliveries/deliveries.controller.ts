import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import type { ListDeliveries } from '@parley/contracts/runtime/deliveries';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Handles } from '@parley/transport/handles';
import { DeliveriesService } from './deliveries.service';

@Controller()
export class DeliveriesController {
  constructor(private readonly service: DeliveriesService) {}

  @Handles(runtime.deliveries.list)
  list(_caller: Caller, input: ListDeliveries) {
    return this.service.list(input);
  }
}
