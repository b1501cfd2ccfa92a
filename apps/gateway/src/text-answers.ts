import type { ServerResponse } from 'node:http';
import { unavailable } from '@parley/contracts/errors';

/** Each is in memory as a whole, more than once, until the client has all of it. */
const maxAtOnce = 4;
/** For the largest text over a slow line. */
const sendTimeoutMs = 120_000;

/** Refuses a download of text with 503 while too many others are under way. */
export class TextAnswers {
  private underWay = 0;

  /** Counts it until its connection is done with it, and cuts off who does not take it in time. */
  admit(response: ServerResponse): void {
    if (this.underWay >= maxAtOnce) {
      throw unavailable(`Only ${maxAtOnce} texts are sent at once. Try again in a moment.`);
    }
    this.underWay += 1;
    const timer = setTimeout(() => response.destroy(), sendTimeoutMs);
    timer.unref();
    response.once('close', () => {
      clearTimeout(timer);
      this.underWay -= 1;
    });
  }
}
