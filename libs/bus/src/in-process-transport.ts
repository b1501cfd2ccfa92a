import { ApiError, unavailable } from '@parley/contracts/errors';
import { type Answer, drainTimeoutMs, InFlight, type Message, type Transport } from './transport';

/** What the containers of one process share in place of a broker. */
export class InProcessHub {
  private readonly servers = new Map<string, Answer[]>();
  private readonly listeners = new Map<string, ((message: Message) => void)[]>();

  add(subject: string, answer: Answer): void {
    this.servers.set(subject, [...(this.servers.get(subject) ?? []), answer]);
  }

  remove(subject: string, answer: Answer): void {
    this.servers.set(
      subject,
      (this.servers.get(subject) ?? []).filter((candidate) => candidate !== answer),
    );
  }

  /** Those who serve a subject take turns. */
  next(subject: string): Answer | undefined {
    const [first, ...rest] = this.servers.get(subject) ?? [];
    if (first && rest.length > 0) this.servers.set(subject, [...rest, first]);
    return first;
  }

  addListener(subject: string, listener: (message: Message) => void): void {
    this.listeners.set(subject, [...(this.listeners.get(subject) ?? []), listener]);
  }

  listenersOf(subject: string): ((message: Message) => void)[] {
    return this.listeners.get(subject) ?? [];
  }
}

/** One container's way to the others in the same process. Bodies are JSON text here too, so nothing is shared by accident. */
export class InProcessTransport implements Transport {
  private readonly inFlight = new InFlight();
  private readonly served: [string, Answer][] = [];

  constructor(
    private readonly hub: InProcessHub,
    private readonly maxBodyBytes: number,
  ) {}

  async request(subject: string, message: Message, timeoutMs: number): Promise<Message> {
    const answer = this.hub.next(subject);
    if (!answer) throw unavailable(`Nobody answers ${subject} just now. Try again in a moment.`);
    this.checkSize('request', message);
    const reply = await withDeadline(subject, answer(message), timeoutMs);
    this.checkSize('answer', reply);
    return reply;
  }

  serve(subject: string, _queue: string, answer: Answer): void {
    const tracked: Answer = (message) => this.inFlight.track(() => answer(message));
    this.served.push([subject, tracked]);
    this.hub.add(subject, tracked);
  }

  broadcast(subject: string, message: Message): void {
    for (const listener of this.hub.listenersOf(subject)) setImmediate(listener, message);
  }

  listen(subject: string, listener: (message: Message) => void): void {
    this.hub.addListener(subject, listener);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  async drain(): Promise<void> {
    for (const [subject, answer] of this.served.splice(0)) this.hub.remove(subject, answer);
    await this.inFlight.settled(drainTimeoutMs);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private checkSize(what: string, { body }: Message): void {
    if (Buffer.byteLength(body) > this.maxBodyBytes) throw tooLarge(what, this.maxBodyBytes);
  }
}

export function tooLarge(what: string, maxBodyBytes: number): ApiError {
  return new ApiError('PayloadTooLarge', `The ${what} is larger than the limit of ${maxBodyBytes} bytes.`);
}

async function withDeadline<T>(subject: string, work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timedOut(subject, timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

export function timedOut(subject: string, timeoutMs: number): ApiError {
  return new ApiError('OperationTimeout', `${subject} did not answer within ${timeoutMs} ms. It may still do the work.`);
}
