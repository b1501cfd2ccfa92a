import { Controller, type Type } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { SealAnew, type SealedAnew, type sealedTextOperations } from '@parley/contracts/sealed-texts';
import { SealedTextsService } from './sealed-texts.service';

export function sealedTextsController(operations: ReturnType<typeof sealedTextOperations>): Type {
  @Controller()
  class SealedTextsController {
    constructor(private readonly service: SealedTextsService) {}

    @Handles(operations.sealAnew)
    sealAnew(_caller: Caller, input: SealAnew): Promise<SealedAnew> {
      return this.service.sealAnew(input);
    }
  }
  return SealedTextsController;
}
