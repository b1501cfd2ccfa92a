import { randomUUID } from 'node:crypto';
import { ErrorCode, headers as natsHeaders, type Msg, NatsError, type ObjectStore, type Subscription } from 'nats';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import { errorMessage } from './envelope';
import { timedOut, tooLarge } from './in-process-transport';
import type { NatsLink } from './nats-connection';
import { type Answer, drainTimeoutMs, InFlight, type Message, type Transport } from './transport';

const bodyHeader = 'parley-body';
/** Room that headers and protocol take beside the body. */
const headroomBytes = 16 * 1024;
const bodyBucket = 'parley-bodies';
const bodyLifetimeMs = 5 * 60_000;

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
    if (!this.link.isUp) throw unavailable('The bus is not connected. Try again in a moment.');
    const { data, headers } = await this.pack('request', message);
    const lost = this.link.lost();
    try {
      const reply = this.link.connection.request(subject, data, { timeout: timeoutMs, headers });
      const first = await Promise.race([reply, lost.promise]);
      if (!first) {
        reply.catch((error: unknown) => this.logger.debug({ err: error, subject }, 'an abandoned request failed'));
        throw new ApiError('OperationTimeout', `The connection broke before ${subject} answered. It may have done the work.`);
      }
      return await this.unpack(first);
    } catch (error) {
      throw toApiError(error, subject, timeoutMs);
    } finally {
      lost.forget();
    }
  }

  serve(subject: string, queue: string, answer: Answer): void {
    this.subscribe(subject, queue, (message) => this.inFlight.track(() => this.answerOne(message, answer)));
  }

  broadcast(subject: string, { headers, body }: Message): void {
    if (!this.link.isUp) return;
    this.link.connection.publish(subject, body, { headers: toNatsHeaders(headers) });
  }

  listen(subject: string, listener: (message: Message) => void): void {
    this.subscribe(subject, undefined, async (message) => listener(await this.unpack(message)));
  }

  async ready(): Promise<void> {
    if (!this.link.isUp) throw unavailable('NATS is not connected.');
    await this.link.connection.flush();
  }

  async drain(): Promise<void> {
    const subscriptions = this.subscriptions.splice(0);
    if (this.link.isUp) await Promise.all(subscriptions.map((subscription) => subscription.drain()));
    await this.inFlight.settled(drainTimeoutMs);
  }

  close(): Promise<void> {
    return this.link.close();
  }

  private subscribe(subject: string, queue: string | undefined, handle: (message: Msg) => Promise<void>): void {
    const callback = (error: Error | null, message: Msg) => {
      if (error) this.logger.error({ err: error, subject }, 'a subscription failed');
      else void handle(message).catch((reason: unknown) => this.logger.error({ err: reason, subject }, 'a message was dropped'));
    };
    this.subscriptions.push(this.link.connection.subscribe(subject, { queue, callback }));
  }

  private async answerOne(message: Msg, answer: Answer): Promise<void> {
    const reply = await answer(await this.unpack(message));
    if (!message.reply) return;
    const { data, headers } = await this.packAnswer(reply);
    message.respond(data, { headers });
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
    await (await this.bodies()).putBlob({ name }, data);
    return { data: Buffer.alloc(0), headers: toNatsHeaders({ ...headers, [bodyHeader]: name }) };
  }

  private async unpack(message: Msg): Promise<Message> {
    const headers: Record<string, string> = {};
    for (const [name, values] of message.headers ?? []) headers[name] = values[0] ?? '';
    const name = headers[bodyHeader];
    if (!name) return { headers, body: message.string() };

    const bodies = await this.bodies();
    const blob = await bodies.getBlob(name);
    if (!blob) throw unavailable('The body of a large message is gone. Try again.');
    await bodies.delete(name);
    return { headers, body: Buffer.from(blob).toString() };
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
}

function toNatsHeaders(headers: Record<string, string>) {
  const result = natsHeaders();
  for (const [name, value] of Object.entries(headers)) result.set(name, value);
  return result;
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
