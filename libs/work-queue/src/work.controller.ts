import { Controller, type Type } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import {
  type Discarded,
  ListWork,
  NamedWork,
  type Retried,
  RetryWork,
  type WorkList,
  type workOperations,
} from '@parley/contracts/work';
import { Handles } from '@parley/transport/handles';
import { WorkService } from './work.service';

/** Controller for the operations of one service on its background work. */
export function workController(operations: ReturnType<typeof workOperations>): Type {
  @Controller()
  class WorkController {
    constructor(private readonly service: WorkService) {}

    @Handles(operations.list)
    list(_caller: Caller, input: ListWork): Promise<WorkList> {
      return this.service.list(input);
    }

    @Handles(operations.retry)
    retry(_caller: Caller, input: RetryWork): Promise<Retried> {
      return this.service.retry(input);
    }

    @Handles(operations.discard)
    discard(_caller: Caller, input: NamedWork): Promise<Discarded> {
      return this.service.discard(input);
    }
  }
  return WorkController;
}
