import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import {
  indexingWork,
  type ListFailedFiles,
  type ListStuckFiles,
  type RetryFiles,
} from '@parley/contracts/indexing-work';
import { IndexingWorkService } from './indexing-work.service';

@Controller()
export class IndexingWorkController {
  constructor(private readonly service: IndexingWorkService) {}

  @Handles(indexingWork.listStuck)
  listStuck(_caller: Caller, input: ListStuckFiles) {
    return this.service.listStuck(input);
  }

  @Handles(indexingWork.listFailed)
  listFailed(_caller: Caller, input: ListFailedFiles) {
    return this.service.listFailed(input);
  }

  @Handles(indexingWork.retry)
  retry(_caller: Caller, input: RetryFiles) {
    return this.service.retry(input);
  }
}
