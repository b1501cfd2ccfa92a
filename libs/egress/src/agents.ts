import type { LookupFunction } from 'node:net';
import { Agent, Client, type Dispatcher, Pool } from 'undici';
import { connectTimeoutMs, maxHeaderBytes } from './egress-limits';
import type { CountingConnection, ExchangeOptions } from './exchange';

const connectionsPerOrigin = 50;
const keepAliveMs = 4_000;

/** HTTP client of one socket at a time, which counts the requests on it. */
class CountingClient extends Client implements CountingConnection {
  private requestsOnSocket = 0;

  constructor(origin: string | URL, options: Client.Options) {
    super(origin, options);
    this.on('connect', () => {
      this.requestsOnSocket = 0;
    });
  }

  override dispatch(options: ExchangeOptions, handler: Dispatcher.DispatchHandler): boolean {
    options.exchange.connection = this;
    return super.dispatch(options, handler);
  }

  countRequest(): boolean {
    this.requestsOnSocket += 1;
    return this.requestsOnSocket > 1;
  }
}

/** Pools of connections by origin: one that keeps connections open, and one that closes each after its request. */
export class Agents {
  readonly reusing: Agent;
  readonly connecting: Agent;

  constructor(lookup: LookupFunction) {
    this.reusing = createAgent(lookup, { pipelining: 1 });
    this.connecting = createAgent(lookup, { pipelining: 0 });
  }

  /** Ends running requests. */
  async destroy(): Promise<void> {
    await Promise.all([this.reusing.destroy(), this.connecting.destroy()]);
  }
}

function createAgent(lookup: LookupFunction, { pipelining }: { pipelining: 0 | 1 }): Agent {
  return new Agent({
    // Zero closes the connection after each request.
    pipelining,
    // One request at a time on a connection, of which `CountingClient` counts them.
    allowH2: false,
    connections: connectionsPerOrigin,
    connect: { lookup, timeout: connectTimeoutMs },
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // `post` bounds the total time.
    headersTimeout: 0,
    bodyTimeout: 0,
    factory: (origin, options) =>
      new Pool(origin, {
        ...options,
        factory: (url, clientOptions) => new CountingClient(url, clientOptions),
      }),
  });
}
