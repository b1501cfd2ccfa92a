import { Injectable } from '@nestjs/common';
import type { BotTarget } from '@parley/contracts/admin/targets';
import { ifFound } from '@parley/contracts/errors';
import { newId } from '@parley/persistence/ids';
import { newTraceparent } from '@parley/tracing/traceparent';
import { type FailedWork, GiveUp, RetryAfter, RetryLater, type Work } from '@parley/work-queue/queue';
import { OnFailed, Worker } from '@parley/work-queue/worker';
import { BotTargetsCache } from '../bot-targets/bot-targets.cache';
import { BotClient } from '../invocations/bot.client';
import { isCalleeError } from '../invocations/invocation';
import { outcomeOf } from '../invocations/outcome';
import { timeLimitMs } from '../invocations/time-limit';
import { IssueRecordsService } from '../issues/issue-records.service';
import { registrations } from './registration-queue';

const retryPausesMs = [5_000, 30_000];
/** `bp dev` deploys a bot before its worker listens. */
const startPauseMs = 1_000;
const maxStartMs = 30_000;

/** Calls `register` of bots that were deployed. */
@Injectable()
export class RegistrationsWorker {
  constructor(
    private readonly targets: BotTargetsCache,
    private readonly bots: BotClient,
    private readonly issues: IssueRecordsService,
  ) {}

  /** Idempotent as far as the bot is: it may be called several times for one deployment. */
  @Worker(registrations, { concurrency: 20, perTenant: 1, attempts: retryPausesMs.length + 1, timeoutMs: 130_000 })
  async register(work: Work<null>): Promise<void> {
    const target = await ifFound(this.targets.get(work.key));
    // Deleted, blocked, or without url and code since the deployment.
    if (!target || (target.url === null && target.code === null) || target.isBlocked) return;
    const reason = await this.call(work, target);
    if (reason === undefined) return;
    if (target.isDev && Date.now() - work.createdAt.getTime() < maxStartMs) throw new RetryLater(reason, startPauseMs);
    const pauseMs = retryPausesMs[work.attempt - 1];
    throw pauseMs === undefined || target.isDev ? new GiveUp(reason) : new RetryAfter(reason, pauseMs);
  }

  @OnFailed(registrations)
  fail({ key: botId }: FailedWork<null>, reason: string): Promise<void> {
    this.issues.record({
      botId,
      code: 'registration_failed',
      category: 'user_code',
      title: 'The bot failed to register after a deployment',
      description: reason,
      data: { reason: { raw: reason } },
    });
    return Promise.resolve();
  }

  /** Reason of the failure; undefined after a success. */
  private async call(work: Work<null>, target: BotTarget): Promise<string | undefined> {
    try {
      const answer = await this.bots.invoke(target, {
        operation: 'register',
        type: 'register',
        body: {},
        id: newId('reg'),
        attempt: work.attempt,
        timeoutMs: timeLimitMs(target, work.attempt),
        traceparent: work.traceparent ?? newTraceparent(),
        signal: work.signal,
      });
      const outcome = outcomeOf(answer);
      return 'reason' in outcome ? outcome.reason : undefined;
    } catch (error) {
      if (isCalleeError(error)) return error.message;
      throw error;
    }
  }
}
