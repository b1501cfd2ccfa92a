import { unavailable } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import type { Message, RequestMessage } from './message';
import {
  type RequestHandler,
  drainTimeoutMs,
  InFlight,
  type Subscription,
  type SubscriptionOptions,
  tooLarge,
  type Driver,
  withDeadline,
} from './driver';

/** Message broker of the containers in one process. */
export class InProcessHub {
  private readonly servers = new Map<string, RequestHandler[]>();
  private readonly listeners = new Map<string, ((message: Message) => void)[]>();

  add(subject: string, answer: RequestHandler): void {
    this.servers.set(subject, [...(this.servers.get(subject) ?? []), answer]);
  }

  remove(subject: string, answer: RequestHandler): void {
    this.servers.set(
      subject,
      (this.servers.get(subject) ?? []).filter((candidate) => candidate !== answer),
    );
  }

  next(subject: string): RequestHandler | undefined {
    const [first, ...rest] = this.servers.get(subject) ?? [];
    if (first && rest.length > 0) this.servers.set(subject, [...rest, first]);
    return first;
  }

  addListener(subject: string, listener: (message: Message) => void): void {
    this.listeners.set(subject, [...this.listenersOf(subject), listener]);
  }

  removeListener(subject: string, listener: (message: Message) => void): void {
    const others = this.listenersOf(subject).filter((candidate) => candidate !== listener);
    if (others.length > 0) this.listeners.set(subject, others);
    else this.listeners.delete(subject);
  }

  listenersOf(subject: string): ((message: Message) => void)[] {
    return this.listeners.get(subject) ?? [];
  }
}

/** In-process driver of one container. Bodies are serialised as JSON, so containers share no objects. */
export class InProcessDriver implements Driver {
  private readonly inFlight = new InFlight();
  private readonly undo = new Set<() => void>();

  constructor(
    private readonly hub: InProcessHub,
    private readonly maxBodyBytes: number,
    private readonly logger: Logger,
  ) {}

  async request(subject: string, message: RequestMessage, timeoutMs: number): Promise<Message> {
    this.checkSize('request', message);
    const answer = this.hub.next(subject);
    if (!answer) throw unavailable(`No service instance is available for ${subject}. Try again in a moment.`);
    const reply = await withDeadline(subject, answer(message), timeoutMs);
    this.checkSize('answer', reply);
    return reply;
  }

  serve(subject: string, _queue: string, handler: RequestHandler): void {
    this.serveInstance(subject, handler);
  }

  serveInstance(subject: string, handler: RequestHandler, { isKept = false }: SubscriptionOptions = {}): Subscription {
    const tracked: RequestHandler = (message) =>
      new Promise((resolve) => void this.inFlight.answer(handler(message), resolve));
    const stop = () => {
      this.undo.delete(stop);
      this.hub.remove(subject, tracked);
    };
    this.hub.add(subject, tracked);
    if (!isKept) this.undo.add(stop);
    return { live: Promise.resolve(), stop };
  }

  broadcast(subject: string, message: Message): void {
    // Asynchronous, as over a network, but before any answer that the sender gives later.
    for (const listener of this.hub.listenersOf(subject)) queueMicrotask(() => listener(message));
  }

  listen(
    subject: string,
    listener: (message: Message) => void,
    { isKept = false }: SubscriptionOptions = {},
  ): Subscription {
    let isStopped = false;
    const guarded = (message: Message) => {
      if (isStopped) return;
      try {
        listener(message);
      } catch (error) {
        this.logger.error({ err: error, subject }, 'message dropped: the listener failed');
      }
    };
    const stop = () => {
      isStopped = true;
      this.undo.delete(stop);
      this.hub.removeListener(subject, guarded);
    };
    this.hub.addListener(subject, guarded);
    if (!isKept) this.undo.add(stop);
    return { live: Promise.resolve(), stop };
  }

  hold(work: Promise<unknown>): void {
    this.inFlight.hold(work);
  }

  onReconnected(_listener: () => void): void {}

  ready(): Promise<void> {
    return Promise.resolve();
  }

  async drain(timeoutMs = drainTimeoutMs): Promise<void> {
    this.undo.forEach((undo) => undo());
    this.undo.clear();
    await this.inFlight.settled(timeoutMs);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private checkSize(what: string, { body }: RequestMessage): void {
    // A character has at most three bytes of UTF-8: most bodies need not be measured.
    if (typeof body === 'string' && 3 * body.length <= this.maxBodyBytes) return;
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    if (bytes > this.maxBodyBytes) throw tooLarge(what, this.maxBodyBytes);
  }
}
