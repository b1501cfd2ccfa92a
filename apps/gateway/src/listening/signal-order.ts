import type { Heard } from './frame';

/** Buffer limits for signals that arrive early. Signals beyond them are requested again later. */
export interface EarlyRoom {
  signals: number;
  size: number;
}

/** Reorder buffer: delivers the signals of a conversation once and in the order of their numbers. */
export class SignalOrder {
  private delivered?: number;
  private readonly early = new Map<number, Heard>();
  private earlySize = 0;
  /** Highest number of a signal that exists but is not in the buffer. */
  private absent = 0;

  constructor(private readonly room: EarlyRoom = { signals: 1000, size: 4_000_000 }) {}

  /** Number of the last delivered signal; undefined before the first `fill`. */
  get last(): number | undefined {
    return this.delivered;
  }

  /** True when a signal older than the newest known one is missing. */
  get hasGap(): boolean {
    return this.delivered !== undefined && (this.early.size > 0 || this.absent > this.delivered);
  }

  /** Returns the signals to deliver now. */
  add(signal: Heard): Heard[] {
    const { number } = signal;
    if (this.delivered !== undefined && number <= this.delivered) return [];
    const isNext = this.delivered !== undefined && number === this.delivered + 1;
    if (isNext || this.hasRoomFor(signal)) this.keep(signal);
    else this.absent = Math.max(this.absent, number);
    return this.take();
  }

  /** Call when a signal with this number is known to exist. Returns no signals. */
  expect(number: number): Heard[] {
    this.absent = Math.max(this.absent, number);
    return [];
  }

  /**
   * Closes the gap up to `last` with the known signals; the others up to it are no longer stored. Returns the signals
   * to deliver now.
   */
  fill(known: Heard[], last: number): Heard[] {
    const before = this.delivered ?? last;
    for (const signal of known) if (signal.number > before) this.keep(signal);
    const numbers = [...this.early.keys()].filter((number) => number <= last).sort((one, other) => one - other);
    const due = numbers.map((number) => this.drop(number)!).filter(({ number }) => number > before);
    this.delivered = Math.max(before, last);
    return [...due, ...this.take()];
  }

  private take(): Heard[] {
    const due: Heard[] = [];
    if (this.delivered === undefined) return due;
    for (;;) {
      const next = this.drop(this.delivered + 1);
      if (!next) return due;
      this.delivered += 1;
      due.push(next);
    }
  }

  private hasRoomFor(signal: Heard): boolean {
    return this.early.size < this.room.signals && this.earlySize + sizeOf(signal) <= this.room.size;
  }

  private keep(signal: Heard): void {
    if (this.early.has(signal.number)) return;
    this.early.set(signal.number, signal);
    this.earlySize += sizeOf(signal);
  }

  private drop(number: number): Heard | undefined {
    const signal = this.early.get(number);
    if (signal && this.early.delete(number)) this.earlySize -= sizeOf(signal);
    return signal;
  }
}

function sizeOf({ frame }: Heard): number {
  return frame?.size ?? 0;
}
