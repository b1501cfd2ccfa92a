import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { type LoadCode, runner } from '@parley/contracts/runner/runner';
import { Handles } from '@parley/transport/handles';
import { CodeChecksService } from './code-checks.service';

@Controller()
export class CodeChecksController {
  constructor(private readonly service: CodeChecksService) {}

  @Handles(runner.codeChecks.run)
  run(caller: Caller, input: LoadCode) {
    return this.service.run(caller, input);
  }
}
