import { Injectable } from '@nestjs/common';
import { notFound } from '@parley/contracts/errors';
import type { CountRuntimeLeftovers, RuntimeLeftovers } from '@parley/contracts/runtime/leftovers';
import { Database } from '@parley/persistence/database';
import { RetryLater, type Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { Worker } from '@parley/work-queue/worker';
import { isUUID } from 'class-validator';
import { ActionRunsRepository } from '../actions/action-runs.repository';
import { CallCountsService } from '../records/call-counts.service';
import { DeliveriesRepository } from '../deliveries/deliveries.repository';
import { IssuesRepository } from '../records/issues.repository';
import { MessageDeliveriesRepository } from '../message-deliveries/message-deliveries.repository';
import { LogsRepository } from '../records/logs.repository';
import { attemptTimeoutMs } from '../invocations/attempts';
import { WebhookRecordingsRepository } from '../webhooks/webhook-recordings.repository';
import { eraseBots } from '../records/erasure-queue';

const rowsAtOnce = 5_000;
/** Attempts that were running at the deletion may still record their outcome until then. */
const settledMs = attemptTimeoutMs + 20_000;

/** Erases the rows of deleted bots: right after the deletion, and once more when no attempt of before is running. */
@Injectable()
export class ErasureService {
  constructor(
    private readonly database: Database,
    private readonly deliveries: DeliveriesRepository,
    private readonly issues: IssuesRepository,
    private readonly actionRuns: ActionRunsRepository,
    private readonly logs: LogsRepository,
    private readonly messageDeliveries: MessageDeliveriesRepository,
    private readonly callCounts: CallCountsService,
    private readonly recordings: WebhookRecordingsRepository,
    private readonly work: WorkQueue,
  ) {}

  /** Idempotent. */
  async eraseBot(botId: string): Promise<void> {
    await this.work.addNow(eraseBots, [{ key: botId, tenant: botId, payload: null }]);
  }

  async countLeftovers({ botId }: CountRuntimeLeftovers): Promise<RuntimeLeftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    const [deliveries, messageDeliveries, issues, actionRuns, logLines, callCounts, webhookRecordings] =
      await Promise.all([
        this.deliveries.countOfBot(botId),
        this.messageDeliveries.countOfBot(botId),
        this.issues.countOfBot(botId),
        this.actionRuns.countOfBot(botId),
        this.logs.countOfBot(botId),
        this.callCounts.countOfBot(botId),
        this.recordings.countOfBot(botId),
      ]);
    return { deliveries, messageDeliveries, issues, actionRuns, logLines, callCounts, webhookRecordings };
  }

  /** Idempotent. */
  @Worker(eraseBots, { concurrency: 2, attempts: Infinity })
  async eraseRowsOfBot({ key: botId, createdAt, signal }: Work<null>): Promise<void> {
    const isSettled = Date.now() - createdAt.getTime() > settledMs;
    await this.work.deleteOfTenant(this.database, botId);
    while ((await this.deliveries.deleteOfBot(botId, rowsAtOnce)) > 0) signal.throwIfAborted();
    while ((await this.actionRuns.deleteOfBot(botId, rowsAtOnce)) > 0) signal.throwIfAborted();
    while ((await this.logs.deleteOfBot(botId, rowsAtOnce)) > 0) signal.throwIfAborted();
    await this.messageDeliveries.deleteOfBot(botId);
    await this.issues.deleteOfBot(botId);
    await this.recordings.deleteOfBot(botId);
    await this.callCounts.eraseBot(botId);
    if (!isSettled)
      throw new RetryLater('Attempts that were running at the deletion may still record an outcome.', settledMs);
  }
}
