import { Injectable } from '@nestjs/common';
import { TooManyWaiting } from '@parley/background/fair-semaphore';
import { PacedTurns } from '@parley/background/paced-turns';
import { unavailable } from '@parley/contracts/errors';
import { Overloaded } from '@parley/service/concurrency-limiter';
import { GatewayConfig } from '../config';

/** Enough for requests to share statements; more at once would not be answered faster. */
const turnsEach = 16;
/** Part of the event loop for one user, while others keep it busy. */
const partEach = 0.3;
/** Small: on a loop that is idle now and then, a user who is alone hardly waits. */
const idleTime = 0.1;

/**
 * Turns for requests of chat users, each for itself. Anybody gets a user key, so one user gets a small share of the
 * process while others need it.
 */
@Injectable()
export class ChatUserLimiter {
  private readonly turns: PacedTurns;

  constructor({ gatewayMaxInFlight }: GatewayConfig) {
    const maxWaitingEach = Math.ceil(gatewayMaxInFlight / 4);
    const ofBusyLoop = partEach / turnsEach;
    this.turns = new PacedTurns({ size: Infinity, maxEach: turnsEach, maxWaitingEach, ofBusyLoop, idleTime });
  }

  /** Throws a 503 when too many requests of the user wait. */
  async run<Result>(userKey: string, work: () => Promise<Result>): Promise<Result> {
    const turn = await this.turns.take(userKey).catch((error: unknown) => {
      if (!(error instanceof TooManyWaiting)) throw error;
      throw unavailable(
        'Too many requests of this chat user are waiting; this one was not processed. Retry after 1 s.',
        new Overloaded(),
      );
    });
    try {
      return await work();
    } finally {
      turn.endRested();
    }
  }
}
