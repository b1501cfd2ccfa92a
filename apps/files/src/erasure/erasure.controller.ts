import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { type CountLeftovers, files } from '@parley/contracts/files';
import { ErasureService } from './erasure.service';

@Controller()
export class ErasureController {
  constructor(private readonly service: ErasureService) {}

  @Handles(files.countLeftovers)
  countLeftovers(_caller: Caller, input: CountLeftovers) {
    return this.service.countLeftovers(input);
  }
}
