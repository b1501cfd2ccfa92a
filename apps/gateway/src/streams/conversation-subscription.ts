import { setTimeout as sleep } from 'node:timers/promises';
import type { ParleyClient } from '@parley/transport/parley-client';
import type { Subscription } from '@parley/transport/driver';
import { randomUUID } from 'node:crypto';
import { systemCaller } from '@parley/contracts/caller';
import { type Listener, type MissedSignals, signalChannel, signals } from '@parley/contracts/chat/signals';
import { ApiError } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import { parseSignal, type ReceivedSignal } from './frame';
import { ReorderBuffer } from './reorder-buffer';
import type { Stream } from './stream';

/** How long to wait for an older signal that may still be in transit. */
const patienceMs = 30;
const retryMs = 1_000;

/** Ordered signals of one conversation, for all streams of this gateway. */
export class ConversationSubscription {
  readonly streams = new Set<Stream>();
  private readonly order = new ReorderBuffer();
  private readonly channel: Subscription;
  private beganAfter = 0;
  private isRecovering = false;
  private pending?: Promise<void>;
  /** Set when the participation of every listening user must be checked. */
  private isEveryoneDue = false;

  constructor(
    readonly conversation: Omit<Listener, 'userId'>,
    private readonly client: ParleyClient,
    private readonly logger: Logger,
  ) {
    this.channel = client.subscribe(signalChannel, conversation.conversationId, (signal) =>
      this.deliver(this.order.add(parseSignal(signal))),
    );
  }

  /** Resolves when the subscription is confirmed: from then on it misses only signals that the bus loses. */
  get live(): Promise<void> {
    return this.channel.live;
  }

  /** Signals after this number went to the streams that were open. 0 before the first stream opened. */
  get beginning(): number {
    return this.beganAfter;
  }

  /**
   * Call when a stream has opened that knows all signals up to this number. Signals that other streams lack were lost
   * or are still in transit.
   */
  begin(last: number): void {
    if (this.order.last === undefined) this.beganAfter = last;
    this.deliver(this.order.last === undefined ? this.order.fill([], last) : this.order.expect(last));
  }

  stop(): void {
    this.channel.stop();
  }

  /** Requests missed signals and checks participation: once before it resolves, then with retries in the background. */
  async recover(): Promise<void> {
    this.isEveryoneDue = true;
    await this.requestMissed();
    if (this.isDue) void this.recoverGaps();
  }

  private get isDue(): boolean {
    return this.order.hasGap || this.isEveryoneDue;
  }

  private deliver(signals: ReceivedSignal[]): void {
    for (const signal of signals) {
      for (const stream of this.streams) stream.take(signal);
    }
    if (this.order.hasGap) void this.recoverGaps();
  }

  private async recoverGaps(): Promise<void> {
    if (this.isRecovering) return;
    this.isRecovering = true;
    while (this.isDue && this.streams.size > 0) {
      const { last } = this.order;
      await sleep(patienceMs);
      if (!this.isEveryoneDue && (!this.order.hasGap || this.order.last !== last)) continue;
      await this.requestMissed();
      if (this.isDue && this.order.last === last) await sleep(retryMs * (1 + Math.random()));
    }
    this.isRecovering = false;
  }

  /** Single flight: concurrent callers share one request. */
  private requestMissed(): Promise<void> {
    return (this.pending ??= this.requestMissedOnce().finally(() => (this.pending = undefined)));
  }

  private async requestMissedOnce(): Promise<void> {
    const checksEveryone = this.isEveryoneDue;
    this.isEveryoneDue = false;
    // Before the first stream has opened, each stream requests its missed signals itself.
    if (this.order.last === undefined) return;
    try {
      await this.catchUp();
      if (checksEveryone) await this.checkEveryone();
    } catch (error) {
      if (error instanceof ApiError && error.type === 'ResourceNotFound') return this.close(() => true);
      this.logger.warn({ err: error, ...this.conversation }, 'requesting missed signals failed, retrying');
      this.isEveryoneDue ||= checksEveryone;
    }
  }

  private async catchUp(): Promise<void> {
    for (let hasMore = true; hasMore;) {
      const [stream] = this.streams;
      if (!stream) return;
      const missed = await this.missedBy(stream.userId);
      this.deliver(this.order.fill(missed.signals.map(parseSignal), missed.last));
      ({ hasMore } = missed);
    }
  }

  /** Closes the streams of users who are no longer participants. Needed because signals that close streams expire. */
  private async checkEveryone(): Promise<void> {
    for (const userId of new Set([...this.streams].map((stream) => stream.userId))) {
      const { isParticipant } = await this.missedBy(userId);
      if (!isParticipant) this.close((stream) => stream.userId === userId);
    }
  }

  private close(matches: (stream: Stream) => boolean): void {
    for (const stream of [...this.streams].filter(matches)) stream.close('removed');
  }

  private missedBy(userId: string): Promise<MissedSignals> {
    const { last: after } = this.order;
    return this.client.call(signals.catchUp, systemCaller(`req_${randomUUID()}`), {
      ...this.conversation,
      userId,
      after,
    });
  }
}
