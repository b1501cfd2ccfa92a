import type { Heard } from './frame';

/** How much of what came before its turn is kept. What has no room is asked for. */
export interface EarlyRoom {
  signals: number;
  /** In UTF-16 code units. */
  size: number;
}

/** Puts the signals of a conversation into the order of their numbers, each once. */
export class SignalOrder {
  private delivered?: number;
  /** What came before its turn. */
  private readonly early = new Map<number, Heard>();
  private earlySize = 0;
  /** The highest number that is known to be there and was not kept. */
  private absent = 0;

  constructor(private readonly room: EarlyRoom = { signals: 1000, size: 4_000_000 }) {}

  /** The last number that was delivered; undefined before the beginning. */
  get last(): number | undefined {
    return this.delivered;
  }

  /** Whether something is missing that is older than what has come. */
  get hasGap(): boolean {
    return this.delivered !== undefined && (this.early.size > 0 || this.absent > this.delivered);
  }

  /** What it is the turn of now. */
  add(signal: Heard): Heard[] {
    const { number } = signal;
    if (this.delivered !== undefined && number <= this.delivered) return [];
    const isNext = this.delivered !== undefined && number === this.delivered + 1;
    if (isNext || this.hasRoomFor(signal)) this.keep(signal);
    else this.absent = Math.max(this.absent, number);
    return this.take();
  }

  /** There is a signal of this number, wherever it is. Nothing is due for that. */
  expect(number: number): Heard[] {
    this.absent = Math.max(this.absent, number);
    return [];
  }

  /** Of everything up to this number, these signals are what is still known. Gives what it is the turn of now. */
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
