import { Controller } from '@nestjs/common';
import { admin } from '@parley/contracts/admin/admin';
import type { IssueRuntimeKey } from '@parley/contracts/admin/runtime-keys';
import type { Caller } from '@parley/contracts/caller';
import { Handles } from '@parley/transport/handles';
import { RuntimeKeysService } from './runtime-keys.service';

@Controller()
export class RuntimeKeysController {
  constructor(private readonly service: RuntimeKeysService) {}

  @Handles(admin.runtimeKeys.issue)
  issue(_caller: Caller, input: IssueRuntimeKey) {
    return this.service.issue(input);
  }
}
