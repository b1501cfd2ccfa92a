import { Injectable } from '@nestjs/common';
import type { BotTarget } from '@parley/contracts/admin/targets';
import { ifFound } from '@parley/contracts/errors';
import { newId } from '@parley/persistence/ids';
import { newTraceparent } from '@parley/tracing/traceparent';
import { type FailedWork, GiveUp, RetryAfter, RetryLater, type Work } from '@parley/work-queue/queue';
import { OnFailed, Worker } from '@parley/work-queue/worker';
import { BotTargetsCache } from '../invocations/bot-targets.cache';
import { BotClient } from '../invocations/bot.client';
import type { CalleeAnswer } from '../invocations/invocation';
import { devStartPauseMs, maxDevStartMs, registrationFailure, registrationLimits } from './registration-attempts';
import { timeLimitMs } from '../invocations/attempts';
import { whenThere } from '../invocations/when-there';
import { IssueRecordsService } from '../records/issue-records.service';
import { registrations } from './registration-queues';

/** Calls `register` of bots that were deployed. */
@Injectable()
export class RegistrationsWorker {
  constructor(
    private readonly targets: BotTargetsCache,
    private readonly bots: BotClient,
    private readonly issues: IssueRecordsService,
  ) {}

  /** Idempotent as far as the bot is: it may be called several times for one deployment. */
  @Worker(registrations, { concurrency: 20, perTenant: 1, ...registrationLimits })
  async register(work: Work<null>): Promise<void> {
    const target = await whenThere(work, ifFound(this.targets.get(work.key)));
    // Deleted, blocked, or without url and code since the deployment.
    if (!target || (target.url === null && target.code === null) || target.isBlocked) return;
    const failure = await registrationFailure('bot', work, () => this.call(work, target));
    if (!failure) return;
    const { reason, pauseMs } = failure;
    if (target.isDev && Date.now() - work.createdAt.getTime() < maxDevStartMs)
      throw new RetryLater(reason, devStartPauseMs);
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

  private call(work: Work<null>, target: BotTarget): Promise<CalleeAnswer> {
    return this.bots.invoke(target, {
      operation: 'register',
      type: 'register',
      body: {},
      id: newId('reg'),
      attempt: work.failures + 1,
      timeoutMs: timeLimitMs(target, work.failures + 1),
      traceparent: work.traceparent ?? newTraceparent(),
      signal: work.signal,
    });
  }
}
