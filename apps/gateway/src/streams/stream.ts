import type { MissedSignals } from '@parley/contracts/chat/signals';
import { type Frame, type ReceivedSignal, parseSignal } from './frame';
import type { Connection } from './connection';

/**
 * Delay of the first signals, so that the client can attach its listeners: it loses what arrives with the response
 * head.
 */
const holdMs = 40;
/** Pause between two attempts to send missed signals. */
const replayPauseMs = 40;
/** Time for the last bytes to leave before the connection is destroyed. */
const lingerMs = 300;

/** Interval of authorization checks, in intervals of slow readers. */
const authorizationIntervals = 8;

export type End = 'client gone' | 'removed' | 'slow reader' | 'not opened' | 'stopping';

export interface StreamOptions {
  maxUnsentBytes: number;
  /** Interval of checks for slow readers. Missed signals are sent for at least as long. */
  slowCheckMs: number;
  onDelivered: () => void;
  onCheck: () => void;
}

/**
 * Stream of one client to one conversation. Signals are buffered until it opens; missed ones are then sent as fast as
 * the client reads.
 */
export class Stream {
  private connection?: Connection;
  private waiting?: ReceivedSignal[] = [];
  /** Frames to send once the client is ready, oldest first. Includes missed signals. */
  private heldFrames?: Frame[];
  /** Text length of the held frames that arrived after opening; missed signals do not count. */
  private heldSize = 0;
  private hasBeenHeld = false;
  private nextSlowCheck: number;
  private nextAuthorization: number;
  private last = 0;
  private count = 0;
  private ended?: End;

  constructor(
    readonly userId: string,
    private readonly options: StreamOptions,
    private readonly onEnd: (end: End) => void,
  ) {
    const now = performance.now();
    this.nextSlowCheck = now + options.slowCheckMs;
    // Random start, so that streams are not checked at the same time.
    this.nextAuthorization = now + Math.random() * authorizationIntervals * options.slowCheckMs;
  }

  get end(): End | undefined {
    return this.ended;
  }

  get delivered(): number {
    return this.count;
  }

  get kind(): Connection['kind'] | undefined {
    return this.connection?.kind;
  }

  /** Sends missed signals first, then those received since. */
  open(connection: Connection, { signals, last }: MissedSignals): void {
    const waiting = this.waiting ?? [];
    this.waiting = undefined;
    this.connection = connection;
    this.last = last;
    this.heldFrames = signals.flatMap((signal) => parseSignal(signal).frame ?? []);
    this.heldSize = 0;
    setTimeout(() => this.release(), holdMs);
    connection.onGone(() => this.finish('client gone'));
    for (const signal of waiting) this.take(signal);
  }

  /** Delivers a signal. Signals up to the last delivered number are dropped. */
  take(signal: ReceivedSignal): void {
    if (this.ended) return;
    if (this.waiting) {
      if (this.hasRoomFor(signal.frame)) this.waiting.push(signal);
      return;
    }
    if (signal.number <= this.last) return;
    this.last = signal.number;
    if (signal.closes === this.userId) this.close('removed');
    else if (signal.frame) this.send(signal.frame);
  }

  /** Sends a ping, and does the checks that are due. */
  ping(now: number): void {
    if (!this.connection) return;
    const { slowCheckMs, onCheck } = this.options;
    if (now >= this.nextAuthorization) {
      this.nextAuthorization = now + authorizationIntervals * slowCheckMs;
      onCheck();
    }
    if (now >= this.nextSlowCheck) {
      this.nextSlowCheck = now + slowCheckMs;
      this.checkSlow();
    }
    if (!this.ended && !this.heldFrames) this.connection.ping();
  }

  /** Closes the stream after its held frames are written. */
  close(end: End): void {
    if (this.ended) return;
    this.heldFrames?.forEach((frame) => this.put(frame));
    const { connection } = this;
    this.finish(end);
    if (!connection) return;
    connection.end(end === 'stopping');
    setTimeout(() => connection.destroy(), lingerMs).unref();
  }

  private send(frame: Frame): void {
    if (!this.heldFrames) this.write(frame);
    else if (this.hasRoomFor(frame)) this.heldFrames.push(frame);
  }

  /** Writes held frames as fast as the client reads. */
  private release(): void {
    if (this.ended || !this.heldFrames) return;
    const { maxUnsentBytes } = this.options;
    let count = 0;
    while (count < this.heldFrames.length && this.connection!.unsentBytes <= maxUnsentBytes)
      this.put(this.heldFrames[count++]!);
    this.heldFrames = count < this.heldFrames.length ? this.heldFrames.slice(count) : undefined;
    if (this.heldFrames) setTimeout(() => this.release(), replayPauseMs).unref();
  }

  private write(frame: Frame): void {
    if (this.isRead()) this.put(frame);
  }

  private put(frame: Frame): void {
    this.connection?.write(frame);
    this.count += 1;
    this.options.onDelivered();
  }

  private checkSlow(): void {
    if (!this.heldFrames) this.isRead();
    else if (this.hasBeenHeld) this.cut();
    else this.hasBeenHeld = true;
  }

  /** Closes the stream and returns false when the client reads too slowly. */
  private isRead(): boolean {
    if (this.ended) return false;
    if (this.connection!.unsentBytes <= this.options.maxUnsentBytes) return true;
    this.cut();
    return false;
  }

  private hasRoomFor(frame: Frame | undefined): boolean {
    this.heldSize += frame?.size ?? 0;
    if (this.heldSize <= this.options.maxUnsentBytes) return true;
    this.cut();
    return false;
  }

  private cut(): void {
    const { connection } = this;
    this.finish('slow reader');
    connection?.destroy();
  }

  private finish(end: End): void {
    if (this.ended) return;
    this.ended = end;
    this.waiting = undefined;
    this.heldFrames = undefined;
    this.onEnd(end);
  }
}
