import { Controller } from '@nestjs/common';
import { admin } from '@parley/contracts/admin/admin';
import type { Caller } from '@parley/contracts/caller';
import type { GetCodePart, SealCodeSecrets } from '@parley/contracts/runner/code';
import { Handles } from '@parley/transport/handles';
import { BotCodeService } from './bot-code.service';
import { RuntimeKeysService } from './runtime-keys.service';

@Controller()
export class CodeController {
  constructor(
    private readonly service: BotCodeService,
    private readonly runtimeKeys: RuntimeKeysService,
  ) {}

  @Handles(admin.botCode.getPart)
  getPart(_caller: Caller, input: GetCodePart) {
    return this.service.getPart(input);
  }

  @Handles(admin.botCode.sealSecrets)
  sealSecrets(_caller: Caller, input: SealCodeSecrets) {
    return this.service.sealSecrets(input);
  }

  @Handles(admin.runtimeKeys.issue)
  issueRuntimeKey(_caller: Caller, input: SealCodeSecrets) {
    return this.runtimeKeys.issue(input);
  }
}
