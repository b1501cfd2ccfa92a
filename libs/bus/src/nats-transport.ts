import type { Msg, Subscription } from 'nats';
import type { Logger } from '@parley/logging/logger';
import { unavailable } from '@parley/contracts/errors';
import { errorMessage } from './envelope';
import type { NatsLink } from './nats-connection';
import { NatsOutgoing } from './nats-outgoing';
import { encode, NatsPayloads, type Payload } from './nats-payloads';
import { NatsRequests } from './nats-requests';
import type { Message } from './message';
import { type Answer, drainTimeoutMs, InFlight, type Transport } from './transport';

/** Requests and broadcasts over NATS. */
export class NatsTransport implements Transport {
  private readonly inFlight = new InFlight();
  private readonly outgoing: NatsOutgoing;
  private readonly payloads: NatsPayloads;
  private readonly requests: NatsRequests;
  private subscriptions: Subscription[] = [];

  constructor(
    private readonly link: NatsLink,
    maxBodyBytes: number,
    private readonly logger: Logger,
  ) {
    this.outgoing = new NatsOutgoing(logger);
    this.payloads = new NatsPayloads(link, maxBodyBytes, logger);
    this.requests = new NatsRequests(link, this.outgoing, logger);
  }

  async request(subject: string, message: Message, timeoutMs: number): Promise<Message> {
    this.checkLink();
    return this.payloads.unpack(await this.requests.send(subject, this.payloads.pack('request', message), timeoutMs));
  }

  serve(subject: string, queue: string, answer: Answer): void {
    this.subscribe(subject, queue, (message) =>
      this.inFlight.answer(this.answerTo(message, answer), (reply) => this.reply(message, reply)),
    );
  }

  broadcast(subject: string, message: Message): void {
    if (!this.link.isUp) return;
    try {
      this.link.connection.publish(subject, encode(message));
    } catch (error) {
      this.logger.error({ err: error, subject }, 'a broadcast was not sent');
    }
  }

  listen(subject: string, listener: (message: Message) => void): void {
    this.subscribe(subject, undefined, async (message) => listener(await this.payloads.unpack(message)));
  }

  async ready(): Promise<void> {
    this.checkLink();
    await this.link.connection.flush();
  }

  async drain(timeoutMs = drainTimeoutMs): Promise<void> {
    await Promise.all(this.subscriptions.splice(0).map((subscription) => this.end(subscription)));
    await this.inFlight.settled(timeoutMs);
    this.outgoing.flush();
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

  /** Whatever arrives has an answer, so that nobody waits for their deadline. */
  private async answerTo(message: Msg, answer: Answer): Promise<Message> {
    try {
      return await answer(await this.payloads.unpack(message));
    } catch (error) {
      this.logger.warn({ err: error, subject: message.subject }, 'a request could not be read');
      return errorMessage(error);
    }
  }

  private async reply(message: Msg, reply: Message): Promise<void> {
    if (!message.reply) return;
    try {
      const { data, headers } = await this.packAnswer(reply);
      this.outgoing.add(() => message.respond(data, { headers }));
    } catch (error) {
      this.logger.error({ err: error, subject: message.subject }, 'an answer was not sent');
    }
  }

  /** An answer that cannot be sent is replaced by the error that says so. */
  private async packAnswer(reply: Message): Promise<Payload> {
    try {
      return await this.payloads.pack('answer', reply);
    } catch (error) {
      return this.payloads.pack('answer', errorMessage(error));
    }
  }

  private checkLink(): void {
    if (!this.link.isUp) throw unavailable('The bus is not connected. Try again in a moment.');
  }
}
