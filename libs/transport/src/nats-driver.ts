import type { Msg, Subscription as NatsSubscription } from 'nats';
import type { Logger } from '@parley/logging/logger';
import { unavailable } from '@parley/contracts/errors';
import { errorMessage } from './envelope';
import type { NatsLink } from './nats-connection';
import { NatsOutgoing } from './nats-outgoing';
import { decode, defaultPayloadTiming, encode, NatsPayloads, type Payload } from './nats-payloads';
import { NatsRequests } from './nats-requests';
import type { Message, RequestMessage } from './message';
import { appOfInbox } from './subjects';
import {
  type RequestHandler,
  drainTimeoutMs,
  InFlight,
  type Subscription,
  type SubscriptionOptions,
  type Driver,
} from './driver';

export class NatsDriver implements Driver {
  private readonly inFlight = new InFlight();
  private readonly outgoing: NatsOutgoing;
  private readonly payloads: NatsPayloads;
  private readonly requests: NatsRequests;
  private readonly subscriptions = new Set<NatsSubscription>();
  private readonly refused = new Set<string>();

  constructor(
    private readonly link: NatsLink,
    maxBodyBytes: number,
    replicas: number,
    private readonly logger: Logger,
    timing = defaultPayloadTiming,
  ) {
    this.outgoing = new NatsOutgoing(logger);
    this.payloads = new NatsPayloads(link, maxBodyBytes, replicas, timing);
    this.requests = new NatsRequests(link, this.outgoing, logger);
    link.onRefused(({ operation, subject }) => operation === 'subscription' && this.refused.add(subject));
  }

  async request(subject: string, message: RequestMessage, timeoutMs: number): Promise<Message> {
    this.checkLink();
    const payload = this.payloads.pack('request', serviceOf(subject), message);
    try {
      return await this.payloads.readAnswer(subject, await this.requests.send(subject, payload, timeoutMs));
    } finally {
      if (payload instanceof Promise)
        payload.then(
          (sent) => this.payloads.release(sent),
          () => undefined,
        );
    }
  }

  serve(subject: string, queue: string, handler: RequestHandler): void {
    this.subscribe(subject, queue, (message) => this.answer(message, handler));
  }

  serveInstance(subject: string, handler: RequestHandler, options?: SubscriptionOptions): Subscription {
    const subscription = this.subscribe(subject, undefined, (message) => this.answer(message, handler));
    return this.subscribed(subscription, options);
  }

  broadcast(subject: string, message: Message): void {
    if (!this.link.isUp) return;
    const data = encode(message);
    this.outgoing.add(() => this.link.connection.publish(subject, data));
  }

  listen(subject: string, listener: (message: Message) => void, options?: SubscriptionOptions): Subscription {
    const subscription = this.subscribe(subject, undefined, (message) => listener(decode(message.data)));
    return this.subscribed(subscription, options);
  }

  hold(work: Promise<unknown>): void {
    this.inFlight.hold(work);
  }

  onReconnected(listener: () => void): void {
    this.link.onReconnected(listener);
  }

  async ready(): Promise<void> {
    this.checkLink();
    await this.link.connection.flush();
    if (this.refused.size > 0)
      throw unavailable(
        `NATS denies the subscription to ${[...this.refused].join(', ')}: configure the server with the permissions of this version (deploy/nats).`,
      );
  }

  async drain(timeoutMs = drainTimeoutMs): Promise<void> {
    const subscriptions = [...this.subscriptions];
    this.subscriptions.clear();
    await Promise.all(subscriptions.map((subscription) => this.end(subscription)));
    await this.inFlight.settled(timeoutMs);
    this.outgoing.flush();
  }

  close(): Promise<void> {
    return this.link.close();
  }

  private answer(message: Msg, handler: RequestHandler): void {
    void this.inFlight.answer(this.answerTo(message, handler), (reply) => this.reply(message, reply));
  }

  private subscribed(subscription: NatsSubscription, { isKept = false }: SubscriptionOptions = {}): Subscription {
    if (isKept) this.subscriptions.delete(subscription);
    const live = this.link.whileUp(() => this.link.connection.flush());
    // Callers need not await it: this handler prevents an unhandled rejection.
    live.catch(() => undefined);
    const stop = () => {
      this.subscriptions.delete(subscription);
      subscription.unsubscribe();
    };
    return { live, stop };
  }

  private subscribe(subject: string, queue: string | undefined, handle: (message: Msg) => void): NatsSubscription {
    const callback = (failure: Error | null, message: Msg) => {
      if (failure) return this.logger.error({ err: failure, subject }, 'a subscription failed');
      // JetStream delivers to any subject that a pull names; the subject of the message stays that of the stream.
      if (message.subject !== subject) return this.logger.error({ subject }, 'message dropped: it has another subject');
      try {
        handle(message);
      } catch (error) {
        this.logger.error({ err: error, subject }, 'message dropped: it could not be handled');
      }
    };
    const subscription = this.link.connection.subscribe(subject, { queue, callback });
    this.subscriptions.add(subscription);
    return subscription;
  }

  /** Handles the messages that the server has sent already. Without a connection there are none. */
  private async end(subscription: NatsSubscription): Promise<void> {
    try {
      if (this.link.isUp) await subscription.drain();
    } catch (error) {
      this.logger.warn({ err: error }, 'the connection to NATS was lost during a drain');
    } finally {
      subscription.unsubscribe();
    }
  }

  /** Unreadable requests get an error at once, so that the caller does not wait for the deadline. */
  private async answerTo(message: Msg, handler: RequestHandler): Promise<Message> {
    try {
      return await this.payloads.answered(message, handler);
    } catch (error) {
      this.logger.warn({ err: error, subject: message.subject }, 'request could not be parsed');
      return errorMessage(error);
    }
  }

  private async reply(message: Msg, reply: Message): Promise<void> {
    // Security: a request can name any reply subject, and the server lets this process publish there. Answer to inboxes
    // only.
    const receiver = appOfInbox(message.reply ?? '');
    if (!receiver) return;
    try {
      const payload = await this.packAnswer(receiver, reply);
      this.outgoing.add(() => message.respond(payload.data, { headers: payload.headers }));
      this.payloads.releaseLater(payload);
    } catch (error) {
      this.logger.error({ err: error, subject: message.subject }, 'answer not sent');
    }
  }

  private async packAnswer(receiver: string, reply: Message): Promise<Payload> {
    try {
      return await this.payloads.pack('answer', receiver, reply);
    } catch (error) {
      return this.payloads.pack('answer', receiver, errorMessage(error));
    }
  }

  private checkLink(): void {
    if (!this.link.isUp) throw unavailable('The bus is not connected. Try again in a moment.');
  }
}

function serviceOf(subject: string): string {
  return subject.slice(0, subject.indexOf('.'));
}
