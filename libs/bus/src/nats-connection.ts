import { connect, Events, type NatsConnection, NatsError } from 'nats';
import type { Logger } from '@parley/logging/logger';

/** A connection that never gives up: it waits for the server at the start and reconnects for ever. */
export class NatsLink {
  private up = true;
  private readonly onDown = new Set<() => void>();

  private constructor(
    readonly connection: NatsConnection,
    private readonly logger: Logger,
  ) {
    void this.watch();
  }

  static async open(url: string, name: string, logger: Logger): Promise<NatsLink> {
    const patience = setTimeout(() => logger.warn(`waiting for NATS at ${withoutCredentials(url)}`), 2_000);
    const connection = await connect({
      servers: url.split(','),
      name,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      waitOnFirstConnect: true,
      pingInterval: 10_000,
      maxPingOut: 2,
      noAsyncTraces: true,
      // A server that comes back before its accounts do must not end this process's bus for good.
      ignoreAuthErrorAbort: true,
    }).finally(() => clearTimeout(patience));
    return new NatsLink(connection, logger);
  }

  get isUp(): boolean {
    return this.up && !this.connection.isClosed();
  }

  /** Calls the listener at each loss of the connection, until the function that it gives is called. */
  onLost(listener: () => void): () => void {
    this.onDown.add(listener);
    return () => this.onDown.delete(listener);
  }

  /** The next loss of the connection. */
  lost(): { promise: Promise<void>; forget: () => void } {
    let forget = () => {};
    const promise = new Promise<void>((resolve) => (forget = this.onLost(resolve)));
    return { promise, forget };
  }

  /** What the work gives. Throws at once when the connection is or gets lost: the work would only meet its deadline. */
  async whileUp<T>(work: () => Promise<T>): Promise<T> {
    if (!this.isUp) throw new Error('NATS is not connected.');
    const lost = this.lost();
    const broken = lost.promise.then(() => {
      throw new Error('The connection to NATS was lost.');
    });
    try {
      return await Promise.race([work(), broken]);
    } finally {
      lost.forget();
    }
  }

  async close(): Promise<void> {
    // A drain during which the server goes away would never close: the client would reconnect for ever.
    if (this.isUp) await Promise.race([this.connection.drain(), this.lost().promise]);
    await this.connection.close();
  }

  private async watch(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === Events.Disconnect) {
        this.up = false;
        this.onDown.forEach((listener) => listener());
        this.logger.warn('the connection to NATS is lost, reconnecting');
      } else if (status.type === Events.Reconnect) {
        this.up = true;
        this.logger.info('connected to NATS again');
      } else if (status.type === Events.Error) {
        this.logger.error({ data: status.data }, 'NATS reports an error');
      }
    }
  }
}

/** The stream, the consumer or the bucket does not exist (404), or nobody serves it (503). */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof NatsError)) return false;
  return (
    error.code === '503' ||
    error.code === '404' ||
    error.api_error?.code === 404 ||
    /not found|deleted/i.test(error.message)
  );
}

function withoutCredentials(url: string): string {
  return url.replaceAll(/\/\/[^@/]*@/g, '//');
}
