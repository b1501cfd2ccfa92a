import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { type CountTableLeftovers, tables } from '@parley/contracts/tables/tables';
import { ErasureService } from './erasure.service';

@Controller()
export class ErasureController {
  constructor(private readonly service: ErasureService) {}

  @Handles(tables.countLeftovers)
  countLeftovers(_caller: Caller, input: CountTableLeftovers) {
    return this.service.countLeftovers(input);
  }
}
