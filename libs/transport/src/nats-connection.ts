import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, createInbox, Events, type NatsConnection, NatsError, nkeyAuthenticator } from 'nats';
import type { Logger } from '@parley/logging/logger';
import { type NatsCredentials, seedForm, seedPattern } from './nats-credentials';
import { inboxPrefix } from './subjects';

export interface Refusal {
  operation: string;
  subject: string;
}

const retryMs = 250;
/** Includes the wait for the server's greeting: nothing else notices a server that hangs up after TLS. */
const connectMs = 5_000;

/** NATS connection that retries forever, at the start and after a loss. */
export class NatsLink {
  private up = true;
  private readonly onDown = new Set<() => void>();
  private readonly onUp: (() => void)[] = [];
  private readonly onNo: ((refusal: Refusal) => void)[] = [];

  private constructor(
    readonly connection: NatsConnection,
    private readonly name: string,
    private readonly logger: Logger,
  ) {
    void this.watch();
  }

  /** @param name is that of the app, as in `apps` of the contracts. Throws when a credential file cannot be read. */
  static async open(url: string, name: string, logger: Logger, credentials: NatsCredentials = {}): Promise<NatsLink> {
    const options = {
      servers: url.split(','),
      name,
      inboxPrefix: inboxPrefix(name),
      maxReconnectAttempts: -1,
      reconnectTimeWait: retryMs,
      timeout: connectMs,
      pingInterval: 10_000,
      maxPingOut: 2,
      noAsyncTraces: true,
      // A server that comes back before its accounts do must not end the connection for good.
      ignoreAuthErrorAbort: true,
      ...securityOf(credentials),
    };
    for (let lastReason = ''; ; await sleep(retryMs)) {
      try {
        return new NatsLink(await connect(options), name, logger);
      } catch (error) {
        const reason = reasonOf(error);
        if (reason !== lastReason) logger.warn(`waiting for NATS at ${withoutCredentials(url)}: ${reason}`);
        lastReason = reason;
      }
    }
  }

  get isUp(): boolean {
    return this.up && !this.connection.isClosed();
  }

  newInbox(): string {
    return createInbox(inboxPrefix(this.name));
  }

  /** Calls the listener at each loss of the connection. The result unsubscribes. */
  onLost(listener: () => void): () => void {
    this.onDown.add(listener);
    return () => this.onDown.delete(listener);
  }

  /** Calls the listener after each reconnect, with all subscriptions restored. */
  onReconnected(listener: () => void): void {
    this.onUp.push(listener);
  }

  onRefused(listener: (refusal: Refusal) => void): void {
    this.onNo.push(listener);
  }

  lost(): { promise: Promise<void>; forget: () => void } {
    let forget = () => {};
    const promise = new Promise<void>((resolve) => (forget = this.onLost(resolve)));
    return { promise, forget };
  }

  /** Runs the work. Rejects at once when the connection is down or gets lost, rather than at the work's own deadline. */
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
    // A drain never ends when the server goes away meanwhile: the client would reconnect forever.
    if (this.isUp) await Promise.race([this.connection.drain(), this.lost().promise]);
    await this.connection.close();
  }

  private async watch(): Promise<void> {
    let lastError: unknown;
    for await (const status of this.connection.status()) {
      if (status.type === Events.Disconnect) {
        if (this.up) this.logger.warn('the connection to NATS is lost, reconnecting');
        this.up = false;
        this.onDown.forEach((listener) => listener());
      } else if (status.type === Events.Reconnect) {
        this.up = true;
        lastError = undefined;
        this.logger.info('connected to NATS again');
        this.onUp.forEach((listener) => listener());
      } else if (status.type === Events.Error) {
        if (status.permissionContext) this.tellRefusal(status.permissionContext);
        // While the server is down, each attempt to reconnect has the same reason.
        else if (this.up || lastError !== status.data) this.logger.error({ data: status.data }, 'NATS error');
        lastError = status.data;
      }
    }
  }

  private tellRefusal({ operation, subject }: Refusal): void {
    this.logger.error(
      { app: this.name, operation, subject },
      'NATS permission violation: configure the server with the permissions of this version (deploy/nats)',
    );
    this.onNo.forEach((listener) => listener({ operation, subject }));
  }
}

/** True when the stream, consumer or bucket does not exist (404) or nobody serves the subject (503). */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof NatsError)) return false;
  return (
    error.code === '503' ||
    error.code === '404' ||
    error.api_error?.code === 404 ||
    /not found|deleted/i.test(error.message)
  );
}

/** Reads the files once, so that a wrong path fails the start rather than each attempt to connect. */
function securityOf({ seed, seedFile, caFile, certFile, keyFile }: NatsCredentials): object {
  if (seed && seedFile) throw new Error('NATS_NKEY_SEED and NATS_NKEY_SEED_FILE are both set: set only one of them.');
  if (!certFile !== !keyFile)
    throw new Error('NATS_CERT_FILE and NATS_KEY_FILE must be set together: set both or none.');
  const readSeed = () => (seedFile ? readSeedFile(seedFile) : Buffer.from(seed ?? ''));
  for (const file of [caFile, certFile, keyFile]) if (file) readFileSync(file);
  return {
    ...(readSeed().length > 0 ? { authenticator: nkeyAuthenticator(readSeed) } : {}),
    ...(caFile || certFile ? { tls: { caFile, certFile, keyFile } } : {}),
  };
}

/** Throws without revealing the content of the file. */
function readSeedFile(path: string): Buffer {
  const text = readFileSync(path, 'utf8').trim();
  if (!seedPattern.test(text)) throw new Error(`${path} does not contain ${seedForm}.`);
  return Buffer.from(text);
}

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (/authorization/i.test(reason)) return 'the server rejects the key of this process (NATS_NKEY_SEED)';
  return /timeout/i.test(reason)
    ? 'the server does not answer, or requires a client certificate (NATS_CERT_FILE)'
    : reason;
}

function withoutCredentials(url: string): string {
  return url.replaceAll(/\/\/[^@/]*@/g, '//');
}
