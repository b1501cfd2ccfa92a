import { randomUUID } from 'node:crypto';
import { ErrorCode, headers as natsHeaders, type Msg, NatsError, type ObjectStore, type Subscription } from 'nats';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import { errorMessage } from './envelope';
import { isMissing, type NatsLink } from './nats-connection';
import {
  type Answer,
  drainTimeoutMs,
  InFlight,
  type Message,
  timedOut,
  tooLarge,
  type Transport,
  withDeadline,
} from './transport';

const bodyHeader = 'parley-body';
/** Room that headers and protocol take beside the body. */
const headroomBytes = 16 * 1024;
const bodyBucket = 'parley-bodies';
const bodyLifetimeMs = 5 * 60_000;
/** Longest wait for the body of a request that passes by reference. */
const bodyTimeoutMs = 10_000;

/** Requests and broadcasts over NATS. A body too large for one message passes by reference through the object store. */
export class NatsTransport implements Transport {
  private readonly inFlight = new InFlight();
  private subscriptions: Subscription[] = [];
  private store?: Promise<ObjectStore>;

  constructor(
    private readonly link: NatsLink,
    private readonly maxBodyBytes: number,
    private readonly logger: Logger,
  ) {}

  async request(subject: string, message: Message, timeoutMs: number): Promise<Message> {
    this.checkLink();
    const lost = this.link.lost();
    let state: 'packing' | 'sent' | 'lost' = 'packing';
    const exchange = async () => {
      const { data, headers } = await this.pack('request', message);
      if (state === 'lost') throw broken(subject, state);
      state = 'sent';
      return this.unpack(await this.link.connection.request(subject, data, { timeout: timeoutMs, headers }));
    };
    const whenLost = lost.promise.then(() => {
      const before = state;
      state = 'lost';
      throw broken(subject, before);
    });
    try {
      return await withDeadline(subject, Promise.race([exchange(), whenLost]), timeoutMs);
    } catch (error) {
      throw toApiError(error, subject, timeoutMs);
    } finally {
      lost.forget();
    }
  }

  serve(subject: string, queue: string, answer: Answer): void {
    this.subscribe(subject, queue, (message) => this.inFlight.track((isCut) => this.answerOne(message, answer, isCut)));
  }

  broadcast(subject: string, { headers, body }: Message): void {
    if (!this.link.isUp) return;
    try {
      this.link.connection.publish(subject, body, { headers: toNatsHeaders(headers) });
    } catch (error) {
      this.logger.error({ err: error, subject }, 'a broadcast was not sent');
    }
  }

  listen(subject: string, listener: (message: Message) => void): void {
    this.subscribe(subject, undefined, async (message) => listener(await this.unpack(message)));
  }

  async ready(): Promise<void> {
    this.checkLink();
    await this.link.connection.flush();
  }

  async drain(timeoutMs = drainTimeoutMs): Promise<void> {
    await Promise.all(this.subscriptions.splice(0).map((subscription) => this.end(subscription)));
    await this.inFlight.settled(timeoutMs);
  }

  close(): Promise<void> {
    return this.link.close();
  }

  private subscribe(subject: string, queue: string | undefined, handle: (message: Msg) => Promise<void>): void {
    const callback = (error: Error | null, message: Msg) => {
      if (error) this.logger.error({ err: error, subject }, 'a subscription failed');
      else
        void handle(message).catch((reason: unknown) =>
          this.logger.error({ err: reason, subject }, 'a message was dropped'),
        );
    };
    this.subscriptions.push(this.link.connection.subscribe(subject, { queue, callback }));
  }

  /** Takes what the server has sent already; without a server there is nothing to take. */
  private async end(subscription: Subscription): Promise<void> {
    try {
      if (this.link.isUp) await subscription.drain();
    } catch (error) {
      this.logger.warn({ err: error }, 'NATS went away during a drain');
    } finally {
      subscription.unsubscribe();
    }
  }

  private async answerOne(message: Msg, answer: Answer, isCut: Promise<never>): Promise<void> {
    const reply = await Promise.race([this.answerTo(message, answer), isCut]).catch(errorMessage);
    if (!message.reply) return;
    const { data, headers } = await this.packAnswer(reply);
    message.respond(data, { headers });
  }

  /** Whatever arrives has an answer, so that nobody waits for their deadline. */
  private async answerTo(message: Msg, answer: Answer): Promise<Message> {
    try {
      return await answer(await withDeadline(message.subject, this.unpack(message), bodyTimeoutMs));
    } catch (error) {
      this.logger.warn({ err: error, subject: message.subject }, 'a request could not be read');
      return errorMessage(error);
    }
  }

  /** An answer that cannot be sent is replaced by the error that says so. */
  private async packAnswer(reply: Message) {
    try {
      return await this.pack('answer', reply);
    } catch (error) {
      return this.pack('answer', errorMessage(error));
    }
  }

  private async pack(what: string, { headers, body }: Message) {
    const data = Buffer.from(body);
    if (data.length > this.maxBodyBytes) throw tooLarge(what, this.maxBodyBytes);
    const limit = (this.link.connection.info?.max_payload ?? 1024 * 1024) - headroomBytes;
    if (data.length <= limit) return { data, headers: toNatsHeaders(headers) };

    const name = randomUUID();
    await this.putBody(name, data);
    return { data: Buffer.alloc(0), headers: toNatsHeaders({ ...headers, [bodyHeader]: name }) };
  }

  private async unpack(message: Msg): Promise<Message> {
    const headers = readHeaders(message);
    const name = headers[bodyHeader];
    if (!name) return { headers, body: message.string() };

    const bodies = await this.bodies();
    const blob = await bodies.getBlob(name);
    if (!blob) throw unavailable('The body of a large message is gone. Try again.');
    bodies.delete(name).catch((error: unknown) => this.logger.debug({ err: error }, 'a body stays until it expires'));
    return { headers, body: Buffer.from(blob).toString() };
  }

  /** A broker that lost its disk has also lost the bucket: then it is made again. */
  private async putBody(name: string, data: Uint8Array): Promise<void> {
    const put = async () => (await this.bodies()).putBlob({ name }, data);
    try {
      await put();
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.store = undefined;
      await put();
    }
  }

  /** What its readers do not delete goes after five minutes. */
  private bodies(): Promise<ObjectStore> {
    this.store ??= this.link.connection
      .jetstream()
      .views.os(bodyBucket, { ttl: bodyLifetimeMs * 1_000_000 })
      .catch((error: unknown) => {
        this.store = undefined;
        throw error;
      });
    return this.store;
  }

  private checkLink(): void {
    if (!this.link.isUp) throw unavailable('The bus is not connected. Try again in a moment.');
  }
}

/** Throws InvalidPayload for headers that nobody of ours has sent. */
function readHeaders(message: Msg): Record<string, string> {
  try {
    return Object.fromEntries([...(message.headers ?? [])].map(([name, values]) => [name, values[0] ?? '']));
  } catch (error) {
    throw new ApiError('InvalidPayload', 'The headers of the message on the bus cannot be read.', { cause: error });
  }
}

function toNatsHeaders(headers: Record<string, string>) {
  const result = natsHeaders();
  for (const [name, value] of Object.entries(headers)) result.set(name, value);
  return result;
}

/** A request that was on its way may have been done; one that was not yet sent was not. */
function broken(subject: string, state: 'packing' | 'sent' | 'lost'): ApiError {
  if (state !== 'sent') return unavailable('The connection to the bus broke. Try again in a moment.');
  return new ApiError(
    'OperationTimeout',
    `The connection broke before ${subject} answered. It may have done the work.`,
  );
}

function toApiError(error: unknown, subject: string, timeoutMs: number): unknown {
  if (!(error instanceof NatsError)) return error;
  switch (error.code) {
    case ErrorCode.NoResponders:
      return unavailable(`Nobody answers ${subject} just now. Try again in a moment.`, error);
    case ErrorCode.Timeout:
      return timedOut(subject, timeoutMs);
    default:
      return unavailable('The bus does not carry the request just now. Try again in a moment.', error);
  }
}
