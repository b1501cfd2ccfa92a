import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import type { CountRuntimeLeftovers } from '@parley/contracts/runtime/leftovers';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Handles } from '@parley/transport/handles';
import { ErasureService } from './erasure.service';

@Controller()
export class ErasureController {
  constructor(private readonly service: ErasureService) {}

  @Handles(runtime.countLeftovers)
  countLeftovers(_caller: Caller, input: CountRuntimeLeftovers) {
    return this.service.countLeftovers(input);
  }
}
