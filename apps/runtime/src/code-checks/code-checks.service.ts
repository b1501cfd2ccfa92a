import { Injectable } from '@nestjs/common';
import { JsonLines } from '@parley/background/json-lines';
import type { Caller } from '@parley/contracts/caller';
import { type CodeCheck, type LoadCode, runner } from '@parley/contracts/runner/runner';
import { ParleyClient } from '@parley/transport/parley-client';
import { IssueRecordsService } from '../issues/issue-records.service';
import { refusedDeployment } from '../issues/refused-deployment';

/** Passes checks of services of the former release to a runner. Those services announce no refusal. */
@Injectable()
export class CodeChecksService {
  constructor(
    private readonly client: ParleyClient,
    private readonly issues: IssueRecordsService,
  ) {}

  async run(caller: Caller, input: LoadCode): Promise<CodeCheck> {
    const check = await this.client.call(runner.codeChecks.run, caller, await JsonLines.of(input));
    // Issues belong to bots: there is none for an integration, or for a bot that is not created.
    const botId = input.owner === 'bot' ? input.ownerId : undefined;
    if (botId !== undefined && check.failure !== null)
      this.issues.record(refusedDeployment({ botId, failure: check.failure }));
    return check;
  }
}
