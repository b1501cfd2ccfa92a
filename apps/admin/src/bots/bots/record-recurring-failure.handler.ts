import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import { recordRecurringFailure, type RecurringEventSettled } from '@parley/contracts/chat/recurring-outcomes';
import { RecurringFailuresRepository } from './recurring-failures.repository';

@Controller()
export class RecordRecurringFailureHandler {
  constructor(private readonly failures: RecurringFailuresRepository) {}

  /** Safe to repeat and in any order: keeps the newest state. */
  @Consumes(recordRecurringFailure)
  async handle(state: RecurringEventSettled): Promise<void> {
    await this.failures.upsertNewer(state);
  }
}
