import type { ServerResponse } from 'node:http';
import { unavailable } from '@parley/contracts/errors';
import { whenEnded } from '@parley/service/concurrency-limiter';

/** Concurrency limit: each text is in memory several times until the client has received it. */
const maxAtOnce = 4;
const sendTimeoutMs = 120_000;

/** Concurrency limit of text downloads: further ones are rejected with 503. */
export class TextDownloadLimiter {
  private underWay = 0;

  /** Counts the response until its connection is closed, and closes it when the client does not read it in time. */
  admit(response: ServerResponse): void {
    if (this.underWay >= maxAtOnce) {
      throw unavailable(
        `Too many text downloads: at most ${maxAtOnce} at once. The request was not processed. Retry after 1 s.`,
      );
    }
    this.underWay += 1;
    const timer = setTimeout(() => response.destroy(), sendTimeoutMs);
    timer.unref();
    whenEnded({ raw: response }, () => {
      clearTimeout(timer);
      this.underWay -= 1;
    });
  }
}
