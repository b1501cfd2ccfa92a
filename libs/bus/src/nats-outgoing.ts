import type { Logger } from '@parley/logging/logger';

/**
 * Sends together what one turn of the event loop has to send, so that it leaves in one write: a write for each message
 * costs more than all else that a gateway does with a request.
 */
export class NatsOutgoing {
  private sends: (() => void)[] = [];

  constructor(private readonly logger: Logger) {}

  add(send: () => void): void {
    if (this.sends.push(send) === 1) setImmediate(() => this.flush());
  }

  /** Sends at once what waits for the end of this turn. */
  flush(): void {
    const sends = this.sends;
    this.sends = [];
    for (const send of sends) {
      try {
        send();
      } catch (error) {
        this.logger.error({ err: error }, 'a message was not sent');
      }
    }
  }
}
