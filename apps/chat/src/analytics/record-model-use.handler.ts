import { Controller } from '@nestjs/common';
import { type ModelUseCounted, recordModelUse } from '@parley/contracts/models/use';
import { Consumes } from '@parley/transport/handles';
import { ModelUseRepository } from './model-use.repository';

/** Safe to repeat and in any order: figures are cumulative, and older ones change nothing. */
@Controller()
export class RecordModelUseHandler {
  constructor(private readonly uses: ModelUseRepository) {}

  @Consumes(recordModelUse)
  async record(use: ModelUseCounted): Promise<void> {
    await this.uses.upsert(use);
  }
}
