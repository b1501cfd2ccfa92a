import type { Logger } from '@parley/logging/logger';

/**
 * Batches the messages of one turn of the event loop into one write: a write per message costs more than everything
 * else that a gateway does for a request.
 */
export class NatsOutgoing {
  private sends: (() => void)[] = [];

  constructor(private readonly logger: Logger) {}

  add(send: () => void): void {
    if (this.sends.push(send) === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    const sends = this.sends;
    this.sends = [];
    for (const send of sends) {
      try {
        send();
      } catch (error) {
        this.logger.error({ err: error }, 'message not sent');
      }
    }
  }
}
