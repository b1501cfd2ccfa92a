import { Inject, Injectable } from '@nestjs/common';
import { systemCaller } from '@parley/contracts/caller';
import {
  type ChangeOperation,
  type OutgoingMessageReply,
  outgoingMessages,
} from '@parley/contracts/chat/outgoing-messages';
import { ifFound } from '@parley/contracts/errors';
import type { SettledStatus } from '@parley/contracts/runtime/deliveries';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { newTraceparent } from '@parley/tracing/traceparent';
import { ParleyClient } from '@parley/transport/parley-client';
import { type FailedWork, GiveUp, RetryAfter, RetryLater, type Work, Yield } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { Every, OnFailed, Worker } from '@parley/work-queue/worker';
import { RuntimeConfig } from '../config';
import {
  attempted,
  attemptTimeoutMs,
  buildPauseMs,
  type Called,
  maxAttempts,
  maxBuildMs,
  pauseAfter,
  timeLimitMs,
} from '../invocations/attempts';
import { type InstalledTarget, IntegrationClient } from '../invocations/integration.client';
import { IntegrationTargetsCache } from '../invocations/integration-targets.cache';
import { CalleeUnavailable } from '../invocations/invocation';
import { whenThere } from '../invocations/when-there';
import { IssueRecordsService } from '../records/issue-records.service';
import { MessageDeliveriesRepository, type MessageOutcome } from './message-deliveries.repository';
import { messageDeliveries, messageDeliveryKey, type MessageDeliveryPayload } from './message-delivery-queue';

/** An integration that cannot be called is tried for this time. Then the message is not delivered. */
const maxUnavailableMs = 24 * 60 * 60_000;
const maxUnavailablePauseMs = 60_000;
/** Deliveries wait for earlier messages that were not announced yet at most this long. */
const maxYieldMs = 60_000;
const yieldPauseMs = 50;
const cleanMs = 10 * 60_000;

const failureTitles: Record<ChangeOperation | 'message_created', string> = {
  message_created: 'deliver a message',
  message_updated: 'update a message',
  conversation_updated: 'update a conversation',
};

/** Message or change that can be delivered. */
interface Deliverable extends Required<Pick<OutgoingMessageReply, 'alias' | 'conversation'>> {
  operation: ChangeOperation | 'message_created';
  body: object;
  userId?: string;
}

/** Delivers messages of bots, and changes, to the integrations of their conversations. */
@Injectable()
export class MessageDeliveriesWorker {
  private readonly countDelivery: (outcome: SettledStatus) => void;

  constructor(
    private readonly client: ParleyClient,
    private readonly targets: IntegrationTargetsCache,
    private readonly integrations: IntegrationClient,
    private readonly deliveries: MessageDeliveriesRepository,
    private readonly issues: IssueRecordsService,
    private readonly queue: WorkQueue,
    private readonly config: RuntimeConfig,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.countDelivery = metrics.counters(
      'parley_message_deliveries_total',
      'Messages of bots, and changes, for integrations by outcome: processed, failed or ignored.',
      'outcome',
    );
  }

  /** At least once: the integration may get a message again if this process ends before it has recorded the outcome. */
  @Worker<MessageDeliveryPayload, MessageDeliveriesWorker>(messageDeliveries, ({ config }) => ({
    concurrency: config.deliveriesConcurrency,
    perTenant: config.deliveriesPerBot,
    attempts: maxAttempts,
    timeoutMs: attemptTimeoutMs,
  }))
  async deliver(work: Work<MessageDeliveryPayload>): Promise<void> {
    const { botId, id, isOwn, change } = work.payload;
    if (isOwn) return this.settle(work.payload, 'ignored', 'The integration wrote the message itself.');
    const caller = systemCaller(newId('req'));
    const reply = await whenThere(work, this.client.call(outgoingMessages.get, caller, { botId, id, change }));
    const found = deliverableOf(reply, change);
    // Deleted meanwhile, or announced twice.
    if (!found || (await this.deliveries.findUnsettled(botId, [id])).length === 0) return;
    const target = await whenThere(work, ifFound(this.targets.getByAlias(botId, found.alias)));
    const obstacle = obstacleTo(target, found);
    if (!target || obstacle !== undefined) return this.settle(work.payload, 'ignored', obstacle ?? null);
    if (reply.earlier) await this.yieldTo(reply.earlier, work);
    try {
      await this.settleCall(work, found, await this.call(target, found, work));
    } catch (error) {
      if (!(error instanceof CalleeUnavailable)) throw error;
      await this.wait(work, found, error);
    }
  }

  @OnFailed(messageDeliveries)
  async fail({ payload }: FailedWork<MessageDeliveryPayload>, reason: string): Promise<void> {
    await this.settle(payload, 'failed', reason);
  }

  /** Safe to run in several processes. */
  @Every({ name: 'runtime.messageDeliveryRetention', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.deliveries.deleteSettledBefore(this.config.deliveryRetentionDays);
  }

  /** Announcements arrive in any order: an earlier one that waits has to be delivered first. Then throws Yield. */
  private async yieldTo(
    earlier: string[],
    { payload: { botId }, createdAt }: Work<MessageDeliveryPayload>,
  ): Promise<void> {
    const unsettled = await this.deliveries.findUnsettled(botId, earlier);
    if (unsettled.length === 0) return;
    const keys = unsettled.map((id) => messageDeliveryKey(botId, id));
    const isOld = Date.now() - createdAt.getTime() > maxYieldMs;
    if (isOld && !(await this.queue.has(messageDeliveries, keys))) return;
    throw new Yield('An earlier message or change is not delivered yet.', keys, yieldPauseMs);
  }

  /** Throws CalleeUnavailable and Interrupted. */
  private call(
    target: InstalledTarget,
    { operation, body, conversation, userId }: Deliverable,
    work: Work<MessageDeliveryPayload>,
  ): Promise<Called> {
    return attempted('integration', work.signal, () =>
      this.integrations.invoke(target, {
        ...{ operation, type: operation, id: work.payload.id, attempt: work.failures + 1, body },
        timeoutMs: timeLimitMs(target.integration, work.failures + 1),
        context: { conversationId: conversation.id, userId },
        traceparent: work.traceparent ?? newTraceparent(),
        signal: work.signal,
      }),
    );
  }

  private async settleCall(work: Work<MessageDeliveryPayload>, found: Deliverable, called: Called): Promise<void> {
    const { attempt, outcome } = called;
    if (outcome.kind === 'processed') return this.settle(work.payload, 'processed', null, [attempt]);
    const { reason } = outcome;
    if (outcome.kind === 'starting' && Date.now() - work.createdAt.getTime() < maxBuildMs)
      throw new RetryLater(reason, buildPauseMs);
    const isLasting = outcome.kind === 'failed';
    const attempts = await this.deliveries.storeOutcome(work.payload, { status: null, reason, attempts: [attempt] });
    const pauseMs = isLasting ? undefined : pauseAfter(work.failures + 1, called, attempts);
    if (pauseMs !== undefined) throw new RetryAfter(reason, pauseMs);
    this.recordFailure(work.payload, found, reason);
    throw new GiveUp(reason);
  }

  /** The integration was not called: no attempt. */
  private async wait(work: Work<MessageDeliveryPayload>, found: Deliverable, error: CalleeUnavailable): Promise<void> {
    const { message } = error;
    if (Date.now() - work.createdAt.getTime() > maxUnavailableMs) {
      this.recordFailure(work.payload, found, message);
      return this.settle(work.payload, 'failed', `The integration could not be called for 24 hours: ${message}`);
    }
    throw new RetryLater(message, Math.min(error.pauseMs(work.createdAt), maxUnavailablePauseMs));
  }

  private async settle(
    payload: MessageDeliveryPayload,
    status: NonNullable<MessageOutcome['status']>,
    reason: string | null,
    attempts: MessageOutcome['attempts'] = [],
  ): Promise<void> {
    await this.deliveries.storeOutcome(payload, { status, reason, attempts });
    this.countDelivery(status);
  }

  private recordFailure(
    { botId, id, conversationId }: MessageDeliveryPayload,
    { alias, operation }: Deliverable,
    reason: string,
  ): void {
    this.issues.record({
      ...{ botId, code: 'message_failed', category: 'user_code' },
      title: `The integration "${alias}" failed to ${failureTitles[operation]}`,
      description: reason,
      data: {
        ...{ alias: { raw: alias }, operation: { raw: operation }, id: { raw: id } },
        ...{ conversationId: { raw: conversationId }, reason: { raw: reason } },
      },
    });
  }
}

/** Undefined if a part of it was deleted. */
function deliverableOf(reply: OutgoingMessageReply, change: ChangeOperation | undefined): Deliverable | undefined {
  const { alias, isChat, message, previousMessage, conversation, previousConversation, user } = reply;
  if (alias === undefined || isChat || !conversation) return undefined;
  if (change === 'conversation_updated') {
    const body = { currentConversation: conversation, previousConversation };
    return previousConversation && { operation: change, alias, conversation, body };
  }
  if (!message || !user) return undefined;
  const { type, payload } = message;
  const parts = { type, payload, conversation, user };
  const found = { alias, conversation, userId: user.id };
  if (!change) return { operation: 'message_created', ...found, body: { ...parts, message } };
  const body = { ...parts, currentMessage: message, previousMessage };
  return previousMessage && { operation: change, ...found, body };
}

/** Why the message is not delivered; undefined if it is. */
function obstacleTo(target: InstalledTarget | undefined, { operation, conversation }: Deliverable): string | undefined {
  if (!target) return 'The integration is no longer installed in the bot.';
  const { installation, integration } = target;
  if (!installation.isEnabled) return 'The integration is disabled in the bot.';
  if (installation.disabledChannels.includes(conversation.channel))
    return `The channel "${conversation.channel}" of the integration is disabled in the bot.`;
  if (operation !== 'message_created' && !integration.extraOperations.includes(operation))
    return `The integration does not ask for ${operation}.`;
  if (integration.url === null && integration.code === null) return 'The integration has neither a url nor code.';
  return undefined;
}
