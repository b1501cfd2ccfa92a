import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { withDeadline } from '@parley/transport/driver';
import type { Caller } from '@parley/contracts/caller';
import {
  type Listener,
  type MissedSignals,
  type OpenStream,
  signals,
  signalsMissing,
} from '@parley/contracts/chat/signals';
import { ApiError } from '@parley/contracts/errors';
import { toApiError } from '@parley/service/error-body';
import { Readiness } from '@parley/service/health.controller';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { GatewayConfig } from '../config';
import { ConversationSubscription } from './conversation-subscription';
import type { Connection } from './connection';
import { type End, Stream, type StreamOptions } from './stream';
import { StreamPings } from './stream-pings';
import { retryLater, StreamsLimiter } from './streams.limiter';

/** Timeout for the broker to confirm a subscription. */
const liveTimeoutMs = 5_000;
/** Limit of missed signals to send. A stream that has missed more begins with the newest. */
const maxReplay = { signals: 2_000, size: 2_000_000 };
/** Concurrency of requests for missed signals after a reconnect. */
const recoveriesAtOnce = 4;
const maxJitterMs = 500;
/** Errors that close an open stream. Other errors may be temporary. */
const refusals = new Set<string>(['Unauthorized', 'Forbidden', 'ResourceNotFound']);

export interface StreamRequest {
  caller: Caller;
  target: OpenStream;
  after?: number;
  /** Whether the stream is neither a WebSocket nor of a browser, which keep silent connections for longer. */
  isEventStreamOfProgram: boolean;
}

/** All streams of this gateway. A conversation has a subscription while at least one stream listens to it. */
@Injectable()
export class StreamsService implements OnModuleInit, OnModuleDestroy {
  private readonly subscriptions = new Map<string, ConversationSubscription>();
  private readonly pings: StreamPings;
  private readonly programPings: StreamPings;
  private isStopping = false;
  private isRecoveryDue = false;
  private readonly options: Omit<StreamOptions, 'onCheck'>;

  constructor(
    private readonly client: ParleyClient,
    private readonly limiter: StreamsLimiter,
    config: GatewayConfig,
    readiness: Readiness,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    this.pings = new StreamPings(config.listenPingMs);
    this.programPings = new StreamPings(Math.min(config.listenPingMs, config.programPingMs));
    this.options = {
      maxUnsentBytes: config.listenMaxUnsentBytes,
      slowCheckMs: config.listenPingMs,
      onDelivered: platform.metrics.counter('parley_stream_signals_total', 'Signals written to streams.'),
    };
    readiness.onStop(() => this.stop());
  }

  onModuleInit(): void {
    this.pings.start();
    this.programPings.start();
    this.client.onReconnected(() => void this.recoverSoon());
    this.client.listen(signalsMissing, ({ botId }) => {
      if (botId === undefined) void this.recoverSoon();
      else
        void this.recover([...this.subscriptions.values()].filter(({ conversation }) => conversation.botId === botId));
    });
  }

  /**
   * Opens a stream: authorizes the client, requests its missed signals, then connects. Throws client errors of the chat
   * service; any other error becomes RateLimited (429), because clients never stop reconnecting after a 5xx. False when
   * the client has disconnected.
   * @param connect returns undefined when the client has disconnected
   * @param admit runs the authorization, when it is the turn of the sender
   */
  async listen(
    request: StreamRequest,
    connect: () => Connection | undefined,
    admit: (authorize: () => Promise<Listener>) => Promise<Listener>,
  ): Promise<boolean> {
    const { caller, target, after } = request;
    try {
      if (this.isStopping) throw ended('stopping');
      const { listener, stream, subscription } = await this.limiter.enter(
        () => admit(() => this.client.call(signals.open, caller, target)),
        (authorized, leave) => this.join(authorized, request, leave),
      );
      try {
        await withDeadline(signals.catchUp.subject, subscription.live, liveTimeoutMs);
        let missed = await this.client.call(signals.catchUp, caller, { ...listener, after });
        // The subscription may have begun after that answer; signals in between went to other streams only.
        while (missed.hasMore || missed.last < subscription.beginning)
          missed = await this.catchUpFurther(caller, listener, missed);
        const end = this.isStopping ? 'stopping' : stream.end;
        if (end) throw ended(end);
        if (!missed.isParticipant) throw ended('removed');
        const connection = connect();
        if (connection) begin(subscription, stream, connection, missed);
        return connection !== undefined;
      } finally {
        if (!stream.kind) stream.close('not opened');
      }
    } catch (error) {
      throw this.refusal(error);
    }
  }

  /** Before TransportModule waits for the open connections: Nest destroys global modules last. */
  onModuleDestroy(): void {
    this.stop();
  }

  /** Closes all streams, so that clients reconnect to another process, and rejects new ones. */
  private stop(): void {
    this.isStopping = true;
    for (const pings of [this.pings, this.programPings]) {
      pings.stop();
      for (const stream of pings.streams()) stream.close('stopping');
    }
  }

  /** Appends the next batch of missed signals to the known ones; returns only the newest when there are too many. */
  private async catchUpFurther(caller: Caller, listener: Listener, known: MissedSignals): Promise<MissedSignals> {
    const size = known.signals.reduce((sum, { frame }) => sum + (frame?.length ?? 0), 0);
    if (known.signals.length >= maxReplay.signals || size >= maxReplay.size) {
      return this.client.call(signals.catchUp, caller, listener);
    }
    const next = await this.client.call(signals.catchUp, caller, { ...listener, after: known.last });
    return { ...next, signals: [...known.signals, ...next.signals] };
  }

  private join(
    listener: Listener,
    request: StreamRequest,
    leave: () => void,
  ): { listener: Listener; stream: Stream; subscription: ConversationSubscription } {
    const { requestId } = request.caller;
    const { botId, conversationId, userId } = listener;
    const subscription = this.subscriptions.get(conversationId) ?? this.subscribe({ botId, conversationId });
    const pings = request.isEventStreamOfProgram ? this.programPings : this.pings;
    const openedAt = performance.now();
    const options = { ...this.options, onCheck: () => void this.check(stream, request) };
    const stream: Stream = new Stream(userId, options, (end) => {
      pings.remove(stream);
      leave();
      this.removeFrom(subscription, stream);
      this.report(stream, end, { ...listener, requestId, ms: Math.round(performance.now() - openedAt) });
    });
    pings.add(stream);
    subscription.streams.add(stream);
    return { listener, stream, subscription };
  }

  private subscribe(conversation: Omit<Listener, 'userId'>): ConversationSubscription {
    const subscription = new ConversationSubscription(conversation, this.client, this.platform.logger);
    this.subscriptions.set(conversation.conversationId, subscription);
    return subscription;
  }

  private removeFrom(subscription: ConversationSubscription, stream: Stream): void {
    subscription.streams.delete(stream);
    if (subscription.streams.size > 0) return;
    subscription.stop();
    this.subscriptions.delete(subscription.conversation.conversationId);
  }

  private report(stream: Stream, end: End, about: object): void {
    if (!stream.kind) return;
    const { kind, delivered } = stream;
    this.platform.logger.info({ kind, end, delivered, ...about }, 'stream');
  }

  /**
   * Closes a stream whose opening would be rejected now: its bot or installation is gone, or the key is no longer
   * valid.
   */
  private async check(stream: Stream, { caller, target }: StreamRequest): Promise<void> {
    try {
      await this.client.call(signals.open, caller, target);
    } catch (error) {
      if (refusals.has(toApiError(error).type)) stream.close('removed');
    }
  }

  /** Random delay (jitter), so that gateways do not all ask at the same moment. */
  private async recoverSoon(): Promise<void> {
    if (this.isRecoveryDue) return;
    this.isRecoveryDue = true;
    await sleep(Math.random() * maxJitterMs, undefined, { ref: false });
    this.isRecoveryDue = false;
    await this.recover([...this.subscriptions.values()]);
  }

  private async recover(all: ConversationSubscription[]): Promise<void> {
    const queue = all.values();
    const recoverInTurn = async () => {
      for (const subscription of queue) await subscription.recover();
    };
    await Promise.all(Array.from({ length: recoveriesAtOnce }, recoverInTurn));
  }

  private refusal(error: unknown): ApiError {
    const known = toApiError(error);
    if (known.code < 500) return known;
    this.platform.logger.warn({ err: error }, 'opening a stream failed');
    return retryLater('Listening is temporarily unavailable.', error);
  }
}

function begin(
  subscription: ConversationSubscription,
  stream: Stream,
  connection: Connection,
  missed: MissedSignals,
): void {
  stream.open(connection, missed);
  subscription.begin(missed.last);
}

function ended(end: End): ApiError {
  if (end === 'removed') return new ApiError('Forbidden', 'The user is no longer a participant of the conversation.');
  return retryLater(
    end === 'stopping' ? 'The process is stopping.' : 'Too many signals arrived while the stream was opening.',
  );
}
