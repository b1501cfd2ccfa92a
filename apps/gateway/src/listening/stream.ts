import type { MissedSignals } from '@parley/contracts/chat/signals';
import { type Frame, type Heard, heard } from './frame';
import type { Wire } from './wire';

/** For the client to attach its listeners: what comes together with the start of a stream is lost. */
const holdMs = 40;
/** While a client takes what it missed. */
const replayPauseMs = 40;
/** For what was written last to leave. */
const lingerMs = 300;

/** It is asked so seldom whether a client may still listen. */
const pingsBetweenChecks = 8;

/** Why a stream ended. */
export type End = 'client gone' | 'removed' | 'slow reader' | 'not opened' | 'stopping';

/** What all streams have in common. */
export interface StreamOptions {
  /** Beyond it a client reads too slowly. */
  maxUnsentBytes: number;
  onDelivered: () => void;
  /** Whether the user may still listen is to be asked. */
  onCheck: () => void;
}

/** What a client hears of one conversation: nothing before it is open, and little by little what it missed before that. */
export class Stream {
  private wire?: Wire;
  /** What is heard before it is open. */
  private waiting?: Heard[] = [];
  /** What is written as soon as the client listens and takes it, oldest first. */
  private held?: Frame[];
  /** Of what came since it opened. */
  private heldSize = 0;
  private pingsWhileHeld = 0;
  /** Not the same for all, so that they are not checked at once. */
  private pingsUntilCheck = Math.ceil(Math.random() * pingsBetweenChecks);
  private last = 0;
  private count = 0;
  private ended?: End;

  constructor(
    readonly userId: string,
    private readonly options: StreamOptions,
    private readonly onEnd: (end: End) => void,
  ) {}

  get end(): End | undefined {
    return this.ended;
  }

  /** How many signals were written. */
  get delivered(): number {
    return this.count;
  }

  get kind(): Wire['kind'] | undefined {
    return this.wire?.kind;
  }

  /** Begins with what was missed; what was heard since follows. */
  open(wire: Wire, { signals, last }: MissedSignals): void {
    const waiting = this.waiting ?? [];
    this.waiting = undefined;
    this.wire = wire;
    this.last = last;
    this.held = signals.flatMap((signal) => heard(signal).frame ?? []);
    this.heldSize = 0;
    setTimeout(() => this.release(), holdMs);
    wire.onGone(() => this.finish('client gone'));
    for (const signal of waiting) this.take(signal);
  }

  /** Takes a signal in its turn. Those that it has had already are dropped. */
  take(signal: Heard): void {
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

  ping(): void {
    if (!this.wire) return;
    if ((this.pingsUntilCheck -= 1) <= 0) {
      this.pingsUntilCheck = pingsBetweenChecks;
      this.options.onCheck();
    }
    if (!this.held) {
      if (this.isRead()) this.wire.ping();
    } else if ((this.pingsWhileHeld += 1) > 1) {
      this.cut();
    }
  }

  /** Ends it when what it holds is written. */
  close(end: End): void {
    if (this.ended) return;
    this.held?.forEach((frame) => this.put(frame));
    const { wire } = this;
    this.finish(end);
    if (!wire) return;
    wire.end(end === 'stopping');
    setTimeout(() => wire.destroy(), lingerMs).unref();
  }

  private send(frame: Frame): void {
    if (!this.held) this.write(frame);
    else if (this.hasRoomFor(frame)) this.held.push(frame);
  }

  /** As fast as the client takes it. */
  private release(): void {
    if (this.ended || !this.held) return;
    const { maxUnsentBytes } = this.options;
    let count = 0;
    while (count < this.held.length && this.wire!.unsentBytes <= maxUnsentBytes) this.put(this.held[count++]!);
    this.held = count < this.held.length ? this.held.slice(count) : undefined;
    if (this.held) setTimeout(() => this.release(), replayPauseMs).unref();
  }

  private write(frame: Frame): void {
    if (this.isRead()) this.put(frame);
  }

  private put(frame: Frame): void {
    this.wire?.write(frame);
    this.count += 1;
    this.options.onDelivered();
  }

  /** Ends a stream that its client reads too slowly. */
  private isRead(): boolean {
    if (this.ended) return false;
    if (this.wire!.unsentBytes <= this.options.maxUnsentBytes) return true;
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
    const { wire } = this;
    this.finish('slow reader');
    wire?.destroy();
  }

  private finish(end: End): void {
    if (this.ended) return;
    this.ended = end;
    this.waiting = undefined;
    this.held = undefined;
    this.onEnd(end);
  }
}
