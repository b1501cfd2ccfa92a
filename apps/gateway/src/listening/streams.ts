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
import { Feed } from './feed';
import { type End, Stream, type StreamOptions } from './stream';
import type { Wire } from './wire';

/** Timeout for the broker to confirm a subscription. */
const liveTimeoutMs = 5_000;
/** Pings are spread: streams are in this many groups, which are pinged one after the other. */
const pingParts = 20;
/** Limit of missed signals to send. A stream that has missed more begins with the newest. */
const maxReplay = { signals: 2_000, size: 2_000_000 };
/** Concurrency of requests for missed signals after a reconnect. */
const recoveriesAtOnce = 4;
const maxJitterMs = 500;
/** Stream limits per gateway: per user, and the fraction of all streams for the users of one bot. */
const maxOfUser = 20;
const partOfBot = 0.05;
/** Errors that close an open stream. Other errors may be temporary. */
const refusals = new Set<string>(['Unauthorized', 'Forbidden', 'ResourceNotFound']);

export interface Opening {
  caller: Caller;
  target: OpenStream;
  after?: number;
}

/** All streams of this gateway. A conversation has a feed while at least one stream listens to it. */
@Injectable()
export class Streams implements OnModuleInit, OnModuleDestroy {
  private readonly feeds = new Map<string, Feed>();
  private readonly parts = Array.from({ length: pingParts }, () => new Set<Stream>());
  private nextPart = 0;
  /** Pending authorization requests; they count towards the stream limit. */
  private asking = 0;
  private pings?: NodeJS.Timeout;
  private readonly countOf = new Map<string, number>();
  private readonly maxOfBot: number;
  private isStopping = false;
  private isRecoveryDue = false;
  private readonly options: Omit<StreamOptions, 'onCheck'>;

  constructor(
    private readonly client: ParleyClient,
    private readonly config: GatewayConfig,
    readiness: Readiness,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    const { metrics } = platform;
    this.maxOfBot = Math.max(maxOfUser, Math.floor(config.listenMaxStreams * partOfBot));
    metrics.gauge('parley_streams_open', 'Open streams of live chat signals, including those that are opening.', () =>
      Promise.resolve(this.open),
    );
    this.options = {
      maxUnsentBytes: config.listenMaxUnsentBytes,
      onDelivered: metrics.counter('parley_stream_signals_total', 'Signals written to streams.'),
    };
    metrics.watchUnderWay('streams', () => this.open + this.asking);
    readiness.onStop(() => this.stop());
  }

  onModuleInit(): void {
    let part = 0;
    this.pings = setInterval(() => {
      for (const stream of this.parts[part]!) stream.ping();
      part = (part + 1) % pingParts;
    }, this.config.listenPingMs / pingParts);
    this.pings.unref();
    this.client.onReconnected(() => void this.recoverSoon());
    this.client.listen(signalsMissing, ({ botId }) => {
      if (botId === undefined) void this.recoverSoon();
      else void this.recover([...this.feeds.values()].filter(({ conversation }) => conversation.botId === botId));
    });
  }

  /** Streams that are open or opening. */
  get open(): number {
    return this.parts.reduce((sum, part) => sum + part.size, 0);
  }

  /**
   * Opens a stream: authorizes the client, requests its missed signals, then connects. Throws client errors of the chat
   * service; any other error becomes RateLimited (429), because clients never stop reconnecting after a 5xx. False when
   * the client has disconnected.
   * @param connect returns undefined when the client has disconnected
   */
  async listen(opening: Opening, connect: () => Wire | undefined): Promise<boolean> {
    const { caller, target, after } = opening;
    try {
      if (this.isStopping) throw ended('stopping');
      let listener: Listener;
      this.takePlace();
      try {
        listener = await this.client.call(signals.open, caller, target);
      } finally {
        this.asking -= 1;
      }
      this.requireShares(listener);
      const { stream, feed } = this.join(listener, opening);
      try {
        await withDeadline(signals.catchUp.subject, feed.live, liveTimeoutMs);
        let missed = await this.client.call(signals.catchUp, caller, { ...listener, after });
        // The feed may have begun after that answer; signals in between went to other streams only.
        while (missed.hasMore || missed.last < feed.beginning) missed = await this.askOn(caller, listener, missed);
        const end = this.isStopping ? 'stopping' : stream.end;
        if (end) throw ended(end);
        if (!missed.isParticipant) throw ended('removed');
        const wire = connect();
        if (wire) begin(feed, stream, wire, missed);
        return wire !== undefined;
      } finally {
        if (!stream.kind) stream.close('not opened');
      }
    } catch (error) {
      throw this.refusal(error);
    }
  }

  /** Load shedding: counts a pending authorization, because each may become a stream. */
  private takePlace(): void {
    if (this.open + this.asking >= this.config.listenMaxStreams) {
      this.platform.metrics.countShed('streams', 'under way');
      throw later('This gateway has reached its limit of open streams.');
    }
    this.asking += 1;
  }

  /** Fair share: one user cannot use all streams of a bot, nor one bot all streams of the gateway. */
  private requireShares(listener: Listener): void {
    const [user, bot] = owners(listener);
    if (this.ofOwner(user) >= maxOfUser) this.refuseShare(`Too many open streams: at most ${maxOfUser} per user key.`);
    if (this.ofOwner(bot) >= this.maxOfBot)
      this.refuseShare(`Too many open streams: at most ${this.maxOfBot} per bot at each gateway.`);
  }

  private refuseShare(limit: string): never {
    this.platform.metrics.countShed('streams', 'share');
    throw later(limit);
  }

  private ofOwner(owner: string): number {
    return this.countOf.get(owner) ?? 0;
  }

  private count(listener: Listener, change: 1 | -1): void {
    for (const owner of owners(listener)) {
      const count = this.ofOwner(owner) + change;
      if (count > 0) this.countOf.set(owner, count);
      else this.countOf.delete(owner);
    }
  }

  /** Before TransportModule waits for the open connections: Nest destroys global modules last. */
  onModuleDestroy(): void {
    this.stop();
  }

  /** Closes all streams, so that clients reconnect to another process, and rejects new ones. */
  private stop(): void {
    this.isStopping = true;
    clearInterval(this.pings);
    for (const part of this.parts) for (const stream of part) stream.close('stopping');
  }

  /** Appends the next batch of missed signals to the known ones; returns only the newest when there are too many. */
  private async askOn(caller: Caller, listener: Listener, known: MissedSignals): Promise<MissedSignals> {
    const size = known.signals.reduce((sum, { frame }) => sum + (frame?.length ?? 0), 0);
    if (known.signals.length >= maxReplay.signals || size >= maxReplay.size) {
      return this.client.call(signals.catchUp, caller, listener);
    }
    const next = await this.client.call(signals.catchUp, caller, { ...listener, after: known.last });
    return { ...next, signals: [...known.signals, ...next.signals] };
  }

  private join(listener: Listener, opening: Opening): { stream: Stream; feed: Feed } {
    const { requestId } = opening.caller;
    const { botId, conversationId, userId } = listener;
    const feed = this.feeds.get(conversationId) ?? this.follow({ botId, conversationId });
    const part = this.parts[(this.nextPart += 1) % pingParts]!;
    const openedAt = performance.now();
    const options = { ...this.options, onCheck: () => void this.check(stream, opening) };
    const stream: Stream = new Stream(userId, options, (end) => {
      part.delete(stream);
      this.count(listener, -1);
      this.leave(feed, stream);
      this.report(stream, end, { ...listener, requestId, ms: Math.round(performance.now() - openedAt) });
    });
    part.add(stream);
    this.count(listener, 1);
    feed.streams.add(stream);
    return { stream, feed };
  }

  private follow(conversation: Omit<Listener, 'userId'>): Feed {
    const feed = new Feed(conversation, this.client, this.platform.logger);
    this.feeds.set(conversation.conversationId, feed);
    return feed;
  }

  private leave(feed: Feed, stream: Stream): void {
    feed.streams.delete(stream);
    if (feed.streams.size > 0) return;
    feed.stop();
    this.feeds.delete(feed.conversation.conversationId);
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
  private async check(stream: Stream, { caller, target }: Opening): Promise<void> {
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
    await this.recover([...this.feeds.values()]);
  }

  private async recover(all: Feed[]): Promise<void> {
    const feeds = all.values();
    const askInTurn = async () => {
      for (const feed of feeds) await feed.recover();
    };
    await Promise.all(Array.from({ length: recoveriesAtOnce }, askInTurn));
  }

  private refusal(error: unknown): ApiError {
    const known = toApiError(error);
    if (known.code < 500) return known;
    this.platform.logger.warn({ err: error }, 'opening a stream failed');
    return later('Listening is temporarily unavailable.', error);
  }
}

function owners({ botId, userId }: Listener): [user: string, bot: string] {
  return [`user ${botId} ${userId}`, `bot ${botId}`];
}

function begin(feed: Feed, stream: Stream, wire: Wire, missed: MissedSignals): void {
  stream.open(wire, missed);
  feed.begin(missed.last);
}

function ended(end: End): ApiError {
  if (end === 'removed') return new ApiError('Forbidden', 'The user is no longer a participant of the conversation.');
  return later(
    end === 'stopping' ? 'The process is stopping.' : 'Too many signals arrived while the stream was opening.',
  );
}

function later(what: string, cause?: unknown): ApiError {
  return new ApiError('RateLimited', `${what} Retry after 1 s.`, { retryAfterSeconds: 1, cause });
}
