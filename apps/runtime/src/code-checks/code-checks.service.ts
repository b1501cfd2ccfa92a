import { Injectable } from '@nestjs/common';
import type { LoadCode } from '@parley/contracts/runner/runner';
import type { CodeCheck } from '@parley/contracts/runtime/code-checks';
import { NoRunner } from '../invocations/invocation';
import { RunnerClient } from '../invocations/runner.client';
import { IssueRecordsService } from '../issues/issue-records.service';

/** Loads code before it is deployed. */
@Injectable()
export class CodeChecksService {
  constructor(
    private readonly runners: RunnerClient,
    private readonly issues: IssueRecordsService,
  ) {}

  async run(input: LoadCode): Promise<CodeCheck> {
    try {
      const failure = await this.runners.load(input);
      if (failure === undefined) return { failure: null };
      this.recordIssue(input, failure);
      return { failure };
    } catch (error) {
      if (error instanceof NoRunner) return { failure: null };
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
