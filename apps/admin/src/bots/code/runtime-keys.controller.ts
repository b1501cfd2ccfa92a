import { Controller } from '@nestjs/common';
import { admin } from '@parley/contracts/admin/admin';
import type { Caller } from '@parley/contracts/caller';
import type { SealCodeSecrets } from '@parley/contracts/runner/code';
import { Handles } from '@parley/transport/handles';
import { RuntimeKeysService } from './runtime-keys.service';

@Controller()
export class RuntimeKeysController {
  constructor(private readonly service: RuntimeKeysService) {}

  @Handles(admin.runtimeKeys.issue)
  issue(_caller: Caller, input: SealCodeSecrets) {
    return this.service.issue(input);
  }
}
