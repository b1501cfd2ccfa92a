import { Injectable } from '@nestjs/common';
import { registrations } from '@parley/contracts/admin/registrations';
import { systemCaller } from '@parley/contracts/caller';
import { ifFound } from '@parley/contracts/errors';
import { newId } from '@parley/persistence/ids';
import { newTraceparent } from '@parley/tracing/traceparent';
import { ParleyClient } from '@parley/transport/parley-client';
import { type FailedWork, RetryAfter, RetryLater, type Work } from '@parley/work-queue/queue';
import { OnFailed, Worker } from '@parley/work-queue/worker';
import { IntegrationClient, type InstalledTarget } from '../invocations/integration.client';
import { IntegrationTargetsCache } from '../invocations/integration-targets.cache';
import type { CalleeAnswer } from '../invocations/invocation';
import { devStartPauseMs, maxDevStartMs, registrationFailure, registrationLimits } from './registration-attempts';
import { timeLimitMs } from '../invocations/attempts';
import { whenThere } from '../invocations/when-there';
import { IssueRecordsService } from '../records/issue-records.service';
import { integrationRegistrations, type RegistrationPayload } from './registration-queues';

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
  @Worker(integrationRegistrations, { concurrency: 100, perTenant: 30, ...registrationLimits })
  async tell(work: Work<RegistrationPayload>): Promise<void> {
    const { kind } = work.payload;
    const target = await whenThere(work, this.findTarget(work.payload));
    // The installation or the version of the integration is gone.
    if (!target) return kind === 'unregister' ? whenThere(work, this.settle(work.payload, 0)) : undefined;
    const { status, isEnabled, isDevBot, revision } = target.installation;
    // A newer change has been notified already, or is notified by other work.
    if (kind === 'register' && (!isEnabled || status === 'registered')) return;
    const failure = await registrationFailure('integration', work, () => this.call(work, target));
    const isStarting = failure?.isTemporary && (isDevBot || target.integration.isDev);
    if (isStarting && Date.now() - work.createdAt.getTime() < maxDevStartMs)
      throw new RetryLater(failure.reason, devStartPauseMs);
    const pauseMs = failure?.isTemporary ? failure.pauseMs : undefined;
    if (kind === 'register' || pauseMs === undefined)
      await whenThere(work, this.settle(work.payload, revision, failure?.reason));
    if (!failure) return;
    if (pauseMs !== undefined) throw new RetryAfter(failure.reason, pauseMs);
    // The bot of a former installation may be deleted.
    if (kind === 'register') this.recordIssue(work.payload, failure.reason);
  }

  @OnFailed(integrationRegistrations)
  async fail({ payload }: FailedWork<RegistrationPayload>, reason: string): Promise<void> {
    const target = await this.findTarget(payload);
    if (!target) return;
    await this.settle(payload, target.installation.revision, reason);
    if (payload.kind === 'register') this.recordIssue(payload, reason);
  }

  private findTarget({ botId, kind, id }: RegistrationPayload): Promise<InstalledTarget | undefined> {
    return ifFound(this.targets.getNow(botId, kind === 'register' ? { alias: id } : { removedId: id }));
  }

  private call(work: Work<RegistrationPayload>, target: InstalledTarget): Promise<CalleeAnswer> {
    const { kind } = work.payload;
    return this.integrations.invoke(target, {
      operation: kind,
      type: kind,
      body: { webhookUrl: target.installation.webhookUrl },
      id: newId('reg'),
      attempt: work.failures + 1,
      timeoutMs: timeLimitMs(target.integration, work.failures + 1),
      traceparent: work.traceparent ?? newTraceparent(),
      signal: work.signal,
    });
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
