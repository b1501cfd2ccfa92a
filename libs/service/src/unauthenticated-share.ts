import type { IncomingMessage } from 'node:http';
import { PacedTurns, type Turn } from '@parley/background/paced-turns';
import { unavailable } from '@parley/contracts/errors';
import { ConcurrencyLimiter, type ConcurrencyLimiterOptions, Overloaded } from './concurrency-limiter';
import { networkOf } from './network';

const turnsAtOnce = 4;
const turnsEach = 2;
const waitMs = 10_000;
/** Part of the event loop, while others keep it busy. */
const partInAll = 0.2;

// One for the process, because the apps of embedded mode share its event loop.
const turns = new PacedTurns({
  size: turnsAtOnce,
  maxEach: turnsEach,
  maxWaitingEach: Infinity,
  ofBusyLoop: partInAll / turnsAtOnce,
  idleTime: 1,
});

/** Sender of a request: a FastifyRequest, or what corresponds to it in an upgrade to WebSocket. */
export interface UnauthenticatedSender {
  ip: string;
  raw: Pick<IncomingMessage, 'socket'>;
  /** Set when the request has had a turn. */
  isAdmitted?: boolean;
}

interface UnauthenticatedShareOptions extends Omit<ConcurrencyLimiterOptions, 'place'> {
  /** Requests that wait or work. */
  max: number;
  place?: string;
  /** Turns apart from those of other work for the same network. */
  isApart?: boolean;
}

/**
 * Turns for work of unauthenticated senders. Few work at once; a turn is followed by a pause as long as the work or,
 * while others need the event loop, up to 19 times as long. Networks take turns, and one may have as many requests
 * waiting as are still free.
 */
export class UnauthenticatedShare {
  private readonly prefix: string;
  private readonly limiter: ConcurrencyLimiter;

  constructor({ place = 'unauthenticated', isApart = false, ...options }: UnauthenticatedShareOptions) {
    this.prefix = isApart ? `${place} ` : '';
    this.limiter = new ConcurrencyLimiter({ place, ...options });
  }

  /** Throws a 503 when too many wait, when the sender has waited for ten seconds, and when it has gone. Do not nest. */
  async run<Result>(sender: UnauthenticatedSender, work: () => Result | Promise<Result>): Promise<Result> {
    const network = networkOf(sender.ip);
    const leave = this.limiter.enter(network);
    try {
      const turn = await takeTurn(this.prefix + network);
      sender.isAdmitted = true;
      if (sender.raw.socket.destroyed) {
        turn.end();
        throw unavailable('The client closed the connection.', new Overloaded());
      }
      try {
        return await work();
      } finally {
        turn.endRested();
      }
    } finally {
      leave();
    }
  }
}

async function takeTurn(queue: string): Promise<Turn> {
  const patience = AbortSignal.timeout(waitMs);
  return turns.take(queue, patience).catch((error: unknown) => {
    if (error !== patience.reason) throw error;
    throw unavailable(
      'Too many requests without a valid credential are waiting; this one was not processed. Retry after 1 s.',
      new Overloaded(),
    );
  });
}
