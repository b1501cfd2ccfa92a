import { Injectable } from '@nestjs/common';
import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { unlessAborted } from '@parley/background/unless-aborted';
import type { Caller } from '@parley/contracts/caller';
import type { LoadCode } from '@parley/contracts/runner/runner';
import { type CodeCheck, codeCheckMs } from '@parley/contracts/runtime/code-checks';
import { isPlatformFault } from '../invocations/invocation';
import { RunnerClient } from '../invocations/runner.client';
import { IssueRecordsService } from '../issues/issue-records.service';

/** Loads code before it is deployed. */
@Injectable()
export class CodeChecksService {
  /** Code that hangs occupies a place of a runner: other deployments, and calls, get the rest. */
  private readonly loads = new FairSemaphore({ size: 8, maxEach: 2, maxWaitingEach: 100 });

  constructor(
    private readonly runners: RunnerClient,
    private readonly issues: IssueRecordsService,
  ) {}

  /** A check that did not come to an end in time finds no failure. The load goes on, and keeps its place until it ends. */
  async run(caller: Caller, input: LoadCode): Promise<CodeCheck> {
    const late = AbortSignal.timeout(codeCheckMs);
    try {
      const load = this.loads.run(caller.workspace?.id ?? '', () => this.runners.load(caller, input), late);
      const failure = await unlessAborted(late, load);
      if (failure === undefined) return { failure: null };
      this.recordIssue(input, failure);
      return { failure };
    } catch (error) {
      if (late.aborted || isPlatformFault(error) || error instanceof TooManyWaiting) return { failure: null };
      throw error;
    }
  }

  /** Issues belong to bots: there is none for an integration, or for a bot that is not created. */
  private recordIssue({ owner, ownerId }: LoadCode, failure: string): void {
    if (owner !== 'bot' || ownerId === undefined) return;
    this.issues.record({
      botId: ownerId,
      code: 'deployment_refused',
      category: 'user_code',
      title: 'A deployment was refused: its code cannot be loaded',
      description: failure,
      data: { reason: { raw: failure } },
    });
  }
}
