import { unavailable } from '@parley/contracts/errors';
import { Overloaded } from '@parley/service/concurrency-limiter';

/** Memory limit of all bodies together. Each body stays in memory until its request is answered. */
const maxBytesAtOnce = 256_000_000;
/** Fraction of the limit for senders without a valid credential. */
const unauthenticatedPart = 0.05;

export interface BodySender {
  /** Key of the share: a workspace, the users of a bot's chat, or the network of an unauthenticated sender. */
  tenant: string;
  isAuthenticated: boolean;
}

export interface BodyLease {
  /** Reserves received bytes. Throws a 503 when the limit is reached. Does nothing after the end. */
  take(bytes: number): void;
  complete(): void;
  /** Runs the action when the request ends, or at once when it has ended. */
  onEnd(action: () => void): void;
  /** Call when the request ends, with or without an answer. Idempotent. */
  end(): void;
}

/**
 * Memory limit for request bodies, counted as bytes arrive. A tenant may hold as many bytes as are free: half of the
 * limit when it is alone, a third beside a tenant that holds as much, and so on. Unauthenticated senders share 5 % of it.
 * When that is full, their oldest incomplete body is cut off: an honest sender needs a moment only.
 *
 * Incomplete bodies are limited too, however few bytes they have, because each occupies a request slot: those of all
 * unauthenticated senders, and those of all tenants with the same share for each. Beyond that, the oldest of the sender
 * is cut off.
 */
export class BodyMemoryLimiter {
  private bytes = 0;
  private readonly bytesOf = new Map<string, number>();
  private unauthenticatedBytes = 0;
  /** Incomplete bodies of unauthenticated senders, oldest first. */
  private readonly unauthenticated = new Set<UnauthenticatedBody>();
  /** Incomplete bodies by tenant, oldest first: functions that cut them off. */
  private readonly incompleteOf = new Map<string, Set<(reason: Error) => void>>();
  private incomplete = 0;

  /** @param maxIncomplete incomplete bodies of all unauthenticated senders, and of all tenants, at once */
  constructor(
    private readonly maxIncomplete: number,
    private readonly maxBytes = maxBytesAtOnce,
  ) {}

  open({ tenant, isAuthenticated }: BodySender, cut: (reason: Error) => void): BodyLease {
    return isAuthenticated ? this.openAuthenticated(tenant, cut) : this.openUnauthenticated(cut);
  }

  private openAuthenticated(tenant: string, cut: (reason: Error) => void): BodyLease {
    this.begin(tenant, cut);
    let held = 0;
    return lease({
      take: (bytes) => {
        const ofTenant = this.bytesOf.get(tenant) ?? 0;
        if (ofTenant + bytes > this.maxBytes - this.bytes) throw full(this.maxBytes);
        this.bytesOf.set(tenant, ofTenant + bytes);
        this.bytes += bytes;
        held += bytes;
      },
      complete: () => this.complete(tenant, cut),
      release: () => {
        this.complete(tenant, cut);
        if (held === 0) return;
        this.bytes -= held;
        const left = this.bytesOf.get(tenant)! - held;
        if (left > 0) this.bytesOf.set(tenant, left);
        else this.bytesOf.delete(tenant);
      },
    });
  }

  private begin(tenant: string, cut: (reason: Error) => void): void {
    const own = this.incompleteOf.get(tenant) ?? new Set();
    if (own.size >= this.maxIncomplete - this.incomplete) {
      const [oldest] = own;
      if (!oldest) throw tooManyIncomplete();
      this.complete(tenant, oldest);
      oldest(tooManyIncomplete());
    }
    own.add(cut);
    this.incompleteOf.set(tenant, own);
    this.incomplete += 1;
  }

  private complete(tenant: string, cut: (reason: Error) => void): void {
    const own = this.incompleteOf.get(tenant);
    if (!own?.delete(cut)) return;
    this.incomplete -= 1;
    if (own.size === 0) this.incompleteOf.delete(tenant);
  }

  private openUnauthenticated(cut: (reason: Error) => void): BodyLease {
    const body: UnauthenticatedBody = { held: 0, cut };
    if (this.unauthenticated.size >= this.maxIncomplete) this.cutOldest();
    this.unauthenticated.add(body);
    return lease({
      take: (bytes) => {
        const max = this.maxBytes * unauthenticatedPart;
        while (this.unauthenticatedBytes + bytes > max && this.cutOldest(body));
        if (this.unauthenticatedBytes + bytes > max) throw full(max);
        this.unauthenticatedBytes += bytes;
        this.bytes += bytes;
        body.held += bytes;
      },
      complete: () => void this.unauthenticated.delete(body),
      release: () => this.releaseUnauthenticated(body),
    });
  }

  private cutOldest(except?: UnauthenticatedBody): boolean {
    for (const body of this.unauthenticated) {
      if (body === except) continue;
      this.releaseUnauthenticated(body);
      body.cut(full(this.maxBytes * unauthenticatedPart));
      return true;
    }
    return false;
  }

  private releaseUnauthenticated(body: UnauthenticatedBody): void {
    this.unauthenticated.delete(body);
    this.unauthenticatedBytes -= body.held;
    this.bytes -= body.held;
    body.held = 0;
  }
}

interface UnauthenticatedBody {
  held: number;
  cut: (reason: Error) => void;
}

function lease({ take, complete, release }: Pick<BodyLease, 'take' | 'complete'> & { release: () => void }): BodyLease {
  let actions: (() => void)[] = [];
  let isOpen = true;
  return {
    take: (bytes) => {
      if (isOpen) take(bytes);
    },
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

function tooManyIncomplete(): Error {
  return unavailable(
    'Too many request bodies are incomplete: a tenant may have as many as are still free. The request was not processed. Retry after 1 s.',
    new Overloaded(),
  );
}

function full(maxBytes: number): Error {
  return unavailable(
    `Too many request bodies are being received: at most ${maxBytes} bytes at once, and one tenant may hold at most as many as are still free. The request was not processed. Retry after 1 s.`,
    new Overloaded(),
  );
}
