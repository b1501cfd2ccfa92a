import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import type { PingBot } from '@parley/contracts/runtime/pings';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Handles } from '@parley/transport/handles';
import { PingsService } from './pings.service';

@Controller()
export class PingsController {
  constructor(private readonly service: PingsService) {}

  @Handles(runtime.pingBot)
  ping(_caller: Caller, input: PingBot) {
    return this.service.ping(input);
  }
}
