import { Injectable } from '@nestjs/common';
import { registrations } from '@parley/contracts/admin/registrations';
import { systemCaller } from '@parley/contracts/caller';
import { ifFound } from '@parley/contracts/errors';
import { newId } from '@parley/persistence/ids';
import { newTraceparent } from '@parley/tracing/traceparent';
import { ParleyClient } from '@parley/transport/parley-client';
import { RetryAfter, RetryLater, type Work } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { IntegrationClient, type InstalledTarget } from '../invocations/integration.client';
import { IntegrationTargetsCache } from '../invocations/integration-targets.cache';
import { CalleeUnavailable, CodePaused, isCalleeError, NoRunner } from '../invocations/invocation';
import { outcomeOf } from '../invocations/outcome';
import { timeLimitMs } from '../invocations/time-limit';
import { IssueRecordsService } from '../issues/issue-records.service';
import { integrationRegistrations, type RegistrationPayload } from './integration-registration-queue';

const retryPausesMs = [5_000, 30_000];
/** `bp dev` deploys before its worker listens. */
const startPauseMs = 1_000;
const maxStartMs = 30_000;
const noRunnerPauseMs = 2_000;

interface Failure {
  reason: string;
  /** Whether another attempt may end otherwise. */
  isTemporary: boolean;
}

/** Tells integrations that they are installed, or no longer installed. */
@Injectable()
export class IntegrationRegistrationsWorker {
  constructor(
    private readonly targets: IntegrationTargetsCache,
    private readonly integrations: IntegrationClient,
    private readonly client: ParleyClient,
    private readonly issues: IssueRecordsService,
  ) {}

  /**
   * Idempotent as far as the integration is: it may be notified several times. The outcome of the first attempt is shown at
   * once; a temporary failure is tried again.
   */
  @Worker(integrationRegistrations, {
    concurrency: 100,
    perTenant: 30,
    attempts: retryPausesMs.length + 1,
    timeoutMs: 130_000,
  })
  async tell(work: Work<RegistrationPayload>): Promise<void> {
    const { botId, kind, id } = work.payload;
    const named = kind === 'register' ? { alias: id } : { removedId: id };
    const target = await ifFound(this.targets.getNow(botId, named));
    // The installation or the version of the integration is gone.
    if (!target) return kind === 'unregister' ? this.settle(work.payload, 0) : undefined;
    const { status, isEnabled, isDevBot, revision } = target.installation;
    // A newer change has been notified already, or is notified by other work.
    if (kind === 'register' && (!isEnabled || status === 'registered')) return;
    const failure = await this.call(work, target);
    const isStarting = failure?.isTemporary && (isDevBot || target.integration.isDev);
    if (isStarting && Date.now() - work.createdAt.getTime() < maxStartMs)
      throw new RetryLater(failure.reason, startPauseMs);
    const pauseMs = failure?.isTemporary ? retryPausesMs[work.attempt - 1] : undefined;
    if (kind === 'register' || pauseMs === undefined) await this.settle(work.payload, revision, failure?.reason);
    if (!failure) return;
    if (pauseMs !== undefined) throw new RetryAfter(failure.reason, pauseMs);
    // The bot of a former installation may be deleted.
    if (kind === 'register') this.recordIssue(work.payload, failure.reason);
  }

  private async call(work: Work<RegistrationPayload>, target: InstalledTarget): Promise<Failure | undefined> {
    const { kind } = work.payload;
    try {
      const answer = await this.integrations.invoke(target, {
        operation: kind,
        type: kind,
        body: { webhookUrl: target.installation.webhookUrl },
        id: newId('reg'),
        attempt: work.attempt,
        timeoutMs: timeLimitMs(target.integration, work.attempt),
        traceparent: work.traceparent ?? newTraceparent(),
        signal: work.signal,
      });
      const outcome = outcomeOf(answer, 'integration');
      return 'reason' in outcome ? { reason: outcome.reason, isTemporary: outcome.kind !== 'failed' } : undefined;
    } catch (error) {
      if (error instanceof NoRunner) throw new RetryLater(error.message, noRunnerPauseMs);
      if (error instanceof CodePaused) throw new RetryLater(error.message, error.retryAfterMs);
      if (isCalleeError(error)) return { reason: error.message, isTemporary: !(error instanceof CalleeUnavailable) };
      throw error;
    }
  }

  private async settle({ botId, kind, id }: RegistrationPayload, revision: number, failure?: string): Promise<void> {
    const input = { botId, kind, id, revision, failure };
    await this.client.call(registrations.settle, systemCaller(newId('req')), input);
  }

  private recordIssue({ botId, id: alias }: RegistrationPayload, reason: string): void {
    this.issues.record({
      botId,
      code: 'integration_registration_failed',
      category: 'configuration',
      title: `The integration "${alias}" failed to register`,
      description: reason,
      data: { alias: { raw: alias }, reason: { raw: reason } },
      groupBy: ['alias'],
    });
  }
}
