import { Injectable } from '@nestjs/common';
import type { BotTarget } from '@parley/contracts/admin/targets';
import type { Event } from '@parley/contracts/chat/events';
import { ifFound } from '@parley/contracts/errors';
import { newTraceparent } from '@parley/tracing/traceparent';
import {
  type FailedWork,
  GiveUp,
  Interrupted,
  Park,
  RetryAfter,
  RetryLater,
  type Work,
  Yield,
} from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { OnFailed, Worker } from '@parley/work-queue/worker';
import { BotTargetsCache } from '../invocations/bot-targets.cache';
import { RuntimeConfig } from '../config';
import { whenThere } from '../invocations/when-there';
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
import { BotClient } from '../invocations/bot.client';
import { CalleeUnavailable, CallQuotaExceeded, CodePaused, NoRunner } from '../invocations/invocation';
import { CallSlotsLimiter } from './call-slots.limiter';
import { DeliveriesRepository, type Settlement } from './deliveries.repository';
import { BotRateLimiter } from './bot-rate.limiter';
import { DeliveryIssuesService } from './delivery-issues.service';
import { type CallOutcome, DeliveryMetricsService } from './delivery-metrics.service';
import { changeOf, deliveryKey, type DeliveryPayload, deliveryQueue, freeRunner } from './delivery-queues';
import { PendingEventsClient } from './pending-events.client';
import { SettlementsService } from './settlements.service';
import { WaitingDeliveriesWorker } from './waiting-deliveries.worker';

const maxParkedMs = 24 * 60 * 60_000;
/** Deliveries wait for earlier events that were not announced yet at most this long. */
const maxYieldMs = 60_000;
const yieldPauseMs = 50;
const noSlotPauseMs = 1_000;

type Delivery = DeliveryPayload & Pick<Settlement, 'replays' | 'created_at'>;

@Injectable()
export class DeliveriesWorker {
  constructor(
    private readonly pending: PendingEventsClient,
    private readonly waiting: WaitingDeliveriesWorker,
    private readonly targets: BotTargetsCache,
    private readonly bots: BotClient,
    private readonly deliveries: DeliveriesRepository,
    private readonly settlements: SettlementsService,
    private readonly rates: BotRateLimiter,
    private readonly slots: CallSlotsLimiter,
    private readonly issues: DeliveryIssuesService,
    private readonly metrics: DeliveryMetricsService,
    private readonly queue: WorkQueue,
    private readonly config: RuntimeConfig,
  ) {}

  /** At least once: the bot may get an event again if this process ends before it has recorded the outcome. */
  @Worker<DeliveryPayload, DeliveriesWorker>(deliveryQueue, ({ config, slots }) => ({
    concurrency: config.deliveriesConcurrency,
    perTenant: config.deliveriesPerBot,
    heldTenants: () => slots.saturatedBots(),
    attempts: maxAttempts,
    timeoutMs: attemptTimeoutMs,
  }))
  async deliver(work: Work<DeliveryPayload>): Promise<void> {
    const { botId, eventId } = work.payload;
    const target = await whenThere(work, ifFound(this.targets.get(botId)));
    // The bot is deleted, and so are its events.
    if (!target) return;
    const [{ event, replays = 0, earlier }, settled] = await Promise.all([
      whenThere(work, this.pending.find(work.payload)),
      this.deliveries.findSettled(botId, eventId),
    ]);
    // Announced twice: it is settled here, but perhaps not at chat.
    if (settled !== undefined && (!event || settled >= replays)) return;
    const delivery: Delivery = { ...work.payload, replays, created_at: work.createdAt };
    if (!event) return this.ignore(delivery, 'The event, or an object that it refers to, was deleted.');
    if (target.subscriptions && !target.subscriptions.includes(event.type))
      return this.ignore(delivery, 'The bot does not subscribe to this event.');
    if (earlier) await this.yieldTo(earlier, work);
    const waitMs = await this.rates.msUntilAllowed(botId);
    if (waitMs > 0) this.issues.recordDelay(work.payload, this.rates.reason);
    if (waitMs > 0) throw new RetryLater(this.rates.reason, waitMs);
    const release = this.slots.acquire(target);
    if (!release) throw new RetryLater(this.slots.reason, noSlotPauseMs);
    try {
      const called = await this.call(target, event, work);
      this.slots.noteAnswer(botId, called.failure !== 'timed out');
      this.metrics.observeCall(callOutcomeOf(called), called.attempt.durationMs);
      await this.settleCall(delivery, work.failures + 1, called);
    } catch (error) {
      if (error instanceof Interrupted) this.metrics.countDelivery('interrupted');
      if (!(error instanceof CalleeUnavailable)) throw error;
      if (error instanceof CallQuotaExceeded) this.issues.recordOverQuota(work.payload, error.message);
      if (error instanceof CodePaused) {
        this.issues.recordPause(work.payload, error.message);
        this.slots.pause(botId, error.retryAfterMs);
      }
      await this.park(delivery, error);
    } finally {
      release();
    }
  }

  /** Work fails for good after its last attempt, and when every process that worked on it ended. */
  @OnFailed(deliveryQueue)
  async fail({ payload }: FailedWork<DeliveryPayload>, reason: string): Promise<void> {
    const { event, replays = 0 } = await this.pending.find(payload);
    if (!event) return;
    this.issues.recordFailure(payload, reason);
    await this.settle({ ...payload, replays, created_at: new Date() }, { status: 'failed', reason, attempts: [] });
  }

  /**
   * Announcements arrive in any order. An earlier event that chat still calls pending is either settled here and not yet
   * there, or has to be delivered first: then throws Yield. Waits a minute at most for one that is not announced.
   */
  private async yieldTo(earlier: string[], { payload: { botId }, createdAt }: Work<DeliveryPayload>): Promise<void> {
    const unsettled = await this.deliveries.findUnsettled(botId, earlier);
    if (unsettled.length === 0) return;
    const keys = unsettled.map((id) => deliveryKey(botId, id));
    const isOld = Date.now() - createdAt.getTime() > maxYieldMs;
    if (isOld && !(await this.queue.has(deliveryQueue, keys))) return;
    throw new Yield('An earlier event is not delivered yet.', keys, yieldPauseMs);
  }

  /** Throws CalleeUnavailable and Interrupted. */
  private call(target: BotTarget, event: Event, work: Work<DeliveryPayload>): Promise<Called> {
    return attempted('bot', work.signal, () =>
      this.bots.invoke(target, {
        operation: 'event_received',
        type: event.type,
        body: { event },
        id: event.id,
        attempt: work.failures + 1,
        timeoutMs: timeLimitMs(target, work.failures + 1),
        context: {
          eventId: event.id,
          conversationId: event.conversationId ?? undefined,
          userId: event.userId ?? undefined,
        },
        traceparent: work.traceparent ?? newTraceparent(),
        signal: work.signal,
      }),
    );
  }

  private async settleCall(delivery: Delivery, attempt: number, called: Called): Promise<void> {
    const { attempt: record, outcome } = called;
    if (outcome.kind === 'processed')
      return this.settle(delivery, { status: 'processed', reason: null, attempts: [record] });
    const { reason } = outcome;
    if (outcome.kind === 'starting' && Date.now() - delivery.created_at.getTime() < maxBuildMs)
      throw new RetryLater(reason, buildPauseMs);
    if (outcome.kind === 'failed') {
      this.issues.recordFailure(delivery, reason);
      return this.settle(delivery, { status: 'failed', reason, attempts: [record] });
    }
    const attempts = await this.deliveries.insertAttempt({ ...rowOf(delivery), reason, attempt: record });
    const pauseMs = pauseAfter(attempt, called, attempts);
    if (pauseMs === undefined) throw new GiveUp(reason);
    this.metrics.countDelivery(called.failure === 'timed out' ? 'timed out' : 'repeated');
    throw new RetryAfter(reason, pauseMs);
  }

  /** Parks the delivery until the bot changes, for 24 hours in all. Then the event is ignored. */
  private async park(delivery: Delivery, cause: CalleeUnavailable): Promise<void> {
    const { message } = cause;
    const endsAt = delivery.created_at.getTime() + maxParkedMs;
    if (Date.now() >= endsAt) return this.ignore(delivery, `The bot could not be called for 24 hours: ${message}`);
    await this.waiting.note(delivery.botId);
    this.metrics.countDelivery('parked');
    const waitsFor = cause instanceof NoRunner ? freeRunner : changeOf(delivery.botId);
    throw new Park(message, waitsFor, new Date(Math.min(Date.now() + cause.pauseMs(delivery.created_at), endsAt)));
  }

  private ignore(delivery: Delivery, reason: string): Promise<void> {
    return this.settle(delivery, { status: 'ignored', reason, attempts: [] });
  }

  private async settle(
    delivery: Delivery,
    settlement: Pick<Settlement, 'status' | 'reason' | 'attempts'>,
  ): Promise<void> {
    await this.settlements.settle({ ...rowOf(delivery), ...settlement });
    this.metrics.countDelivery(settlement.status);
  }
}

function rowOf({ botId, eventId, type, replays, created_at }: Delivery) {
  return { bot_id: botId, event_id: eventId, type, replays, created_at };
}

function callOutcomeOf({ outcome, failure }: Called): CallOutcome {
  if (failure === 'timed out') return 'timed out';
  return outcome.kind === 'processed' || outcome.kind === 'failed' ? outcome.kind : 'repeated';
}
