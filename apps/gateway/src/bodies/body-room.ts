import { unavailable } from '@parley/contracts/errors';
import { Overloaded } from '@parley/service/admission';

/** Of all bodies together: each is in memory until its request is answered. */
const maxBytesAtOnce = 256_000_000;
/** The part of it for those who have not shown a valid credential. */
const strangersPart = 0.05;

/** Who sends a body. */
export interface BodySender {
  /** Whose share it takes: that of a workspace, or of the users of a bot's chat. */
  tenant: string;
  /** Has shown a valid credential. */
  isProven: boolean;
}

/** The room that one body takes. */
export interface BodyLease {
  /** Call for what has arrived. Throws a 503 when there is no room for it. */
  take(bytes: number): void;
  /** Call when the whole body is there. */
  complete(): void;
  /** Call what was given when the request has ended. */
  onEnd(action: () => void): void;
  /** Call when the request has ended, however it ended: more than once does no harm. */
  end(): void;
}

/**
 * Counts the bytes of bodies as they arrive. A tenant has as much room as is free, at most: half of it alone, a third beside
 * one that has as much, and so on. Strangers have a small part in common; when that is full, or too many of them are
 * sending, the one that has been sending for the longest time is cut off, since honest ones need a moment only.
 */
export class BodyRoom {
  private bytes = 0;
  private readonly bytesOf = new Map<string, number>();
  private strangersBytes = 0;
  /** Those whose bodies are not complete, the oldest first. */
  private readonly strangers = new Set<Stranger>();

  /** @param maxStrangers how many of them may be sending */
  constructor(
    private readonly maxStrangers: number,
    private readonly maxBytes = maxBytesAtOnce,
  ) {}

  /** @param cut ends a body that is not complete */
  open({ tenant, isProven }: BodySender, cut: (reason: Error) => void): BodyLease {
    return isProven ? this.openProven(tenant) : this.openStranger(cut);
  }

  private openProven(tenant: string): BodyLease {
    let held = 0;
    return lease({
      take: (bytes) => {
        const ofTenant = this.bytesOf.get(tenant) ?? 0;
        if (ofTenant + bytes > this.maxBytes - this.bytes) throw full(this.maxBytes);
        this.bytesOf.set(tenant, ofTenant + bytes);
        this.bytes += bytes;
        held += bytes;
      },
      complete: () => undefined,
      release: () => {
        if (held === 0) return;
        this.bytes -= held;
        const left = this.bytesOf.get(tenant)! - held;
        if (left > 0) this.bytesOf.set(tenant, left);
        else this.bytesOf.delete(tenant);
      },
    });
  }

  private openStranger(cut: (reason: Error) => void): BodyLease {
    const stranger: Stranger = { held: 0, cut };
    if (this.strangers.size >= this.maxStrangers) this.cutOldest();
    this.strangers.add(stranger);
    return lease({
      take: (bytes) => {
        const max = this.maxBytes * strangersPart;
        while (this.strangersBytes + bytes > max && this.cutOldest(stranger));
        if (this.strangersBytes + bytes > max) throw full(max);
        this.strangersBytes += bytes;
        this.bytes += bytes;
        stranger.held += bytes;
      },
      complete: () => void this.strangers.delete(stranger),
      release: () => this.releaseStranger(stranger),
    });
  }

  /** False when there is nobody else. */
  private cutOldest(except?: Stranger): boolean {
    for (const stranger of this.strangers) {
      if (stranger === except) continue;
      this.releaseStranger(stranger);
      stranger.cut(full(this.maxBytes * strangersPart));
      return true;
    }
    return false;
  }

  private releaseStranger(stranger: Stranger): void {
    this.strangers.delete(stranger);
    this.strangersBytes -= stranger.held;
    this.bytes -= stranger.held;
    stranger.held = 0;
  }
}

interface Stranger {
  held: number;
  cut: (reason: Error) => void;
}

function lease({ take, complete, release }: Pick<BodyLease, 'take' | 'complete'> & { release: () => void }): BodyLease {
  let actions: (() => void)[] = [];
  let isOpen = true;
  return {
    take,
    complete,
    onEnd: (action) => {
      if (isOpen) actions.push(action);
      else action();
    },
    end: () => {
      if (!isOpen) return;
      isOpen = false;
      release();
      for (const action of actions) action();
      actions = [];
    },
  };
}

function full(maxBytes: number): Error {
  return unavailable(
    `Bodies are on their way in that leave no room for this one: all together may have ${maxBytes} bytes, and one sender what the others leave free. Try again in a moment.`,
    new Overloaded(),
  );
}
