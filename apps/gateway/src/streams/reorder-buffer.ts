import type { ReceivedSignal } from './frame';

/** Buffer limits for signals that arrive early. Signals beyond them are requested again later. */
export interface BufferLimits {
  signals: number;
  size: number;
}

/** Reorder buffer: delivers the signals of a conversation once and in the order of their numbers. */
export class ReorderBuffer {
  private delivered?: number;
  private readonly early = new Map<number, ReceivedSignal>();
  private earlySize = 0;
  /** Highest number of a signal that exists but is not in the buffer. */
  private absent = 0;

  constructor(private readonly limits: BufferLimits = { signals: 1000, size: 4_000_000 }) {}

  /** Number of the last delivered signal; undefined before the first `fill`. */
  get last(): number | undefined {
    return this.delivered;
  }

  /** True when a signal older than the newest known one is missing. */
  get hasGap(): boolean {
    return this.delivered !== undefined && (this.early.size > 0 || this.absent > this.delivered);
  }

  /** Returns the signals to deliver now. */
  add(signal: ReceivedSignal): ReceivedSignal[] {
    const { number } = signal;
    if (this.delivered !== undefined && number <= this.delivered) return [];
    const isNext = this.delivered !== undefined && number === this.delivered + 1;
    if (isNext || this.hasRoomFor(signal)) this.keep(signal);
    else this.absent = Math.max(this.absent, number);
    return this.take();
  }

  /** Call when a signal with this number is known to exist. Returns no signals. */
  expect(number: number): ReceivedSignal[] {
    this.absent = Math.max(this.absent, number);
    return [];
  }

  /**
   * Closes the gap up to `last` with the known signals; the others up to it are no longer stored. Returns the signals
   * to deliver now.
   */
  fill(known: ReceivedSignal[], last: number): ReceivedSignal[] {
    const before = this.delivered ?? last;
    for (const signal of known) if (signal.number > before) this.keep(signal);
    const numbers = [...this.early.keys()].filter((number) => number <= last).sort((one, other) => one - other);
    const due = numbers.map((number) => this.drop(number)!).filter(({ number }) => number > before);
    this.delivered = Math.max(before, last);
    return [...due, ...this.take()];
  }

  private take(): ReceivedSignal[] {
    const due: ReceivedSignal[] = [];
    if (this.delivered === undefined) return due;
    for (;;) {
      const next = this.drop(this.delivered + 1);
      if (!next) return due;
      this.delivered += 1;
      due.push(next);
    }
  }

  private hasRoomFor(signal: ReceivedSignal): boolean {
    return this.early.size < this.limits.signals && this.earlySize + sizeOf(signal) <= this.limits.size;
  }

  private keep(signal: ReceivedSignal): void {
    if (this.early.has(signal.number)) return;
    this.early.set(signal.number, signal);
    this.earlySize += sizeOf(signal);
  }

  private drop(number: number): ReceivedSignal | undefined {
    const signal = this.early.get(number);
    if (signal && this.early.delete(number)) this.earlySize -= sizeOf(signal);
    return signal;
  }
}

function sizeOf({ frame }: ReceivedSignal): number {
  return frame?.size ?? 0;
}
