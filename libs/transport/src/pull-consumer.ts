import { ErrorCode, type JsMsg, type Msg, nanos, NatsError } from 'nats';
// The package has no export for this function.
import { toJsMsg } from 'nats/lib/jetstream/jsmsg';
import type { NatsLink } from './nats-connection';

/** Grace period for the server's answer that there was no event. */
const patienceMs = 2_000;

type Outcome = { event: JsMsg | null } | { error: Error };

/**
 * Pull consumer that requests one event at a time. Gives back at once an event that arrives after the wait has ended;
 * the client's own pulls drop it, and it is redelivered only after the ack wait.
 */
export class PullConsumer {
  private readonly inbox: string;
  private count = 0;
  private waiting?: (outcome: Outcome) => void;

  constructor(
    private readonly link: NatsLink,
    private readonly subject: string,
    private readonly waitMs: number,
  ) {
    this.inbox = link.newInbox();
    const callback = (error: Error | null, message: Msg) => (error ? void this.end({ error }) : this.receive(message));
    link.connection.subscribe(`${this.inbox}.*`, { callback });
  }

  /**
   * Null when no event came in time, or on abort. Throws an error that `isMissing` recognises when the consumer is or
   * may be gone: a server without a consumer of that name sends no answer.
   */
  async next(signal: AbortSignal): Promise<JsMsg | null> {
    if (signal.aborted) return null;
    const lost = this.link.lost();
    const giveUp = () => this.end({ event: null });
    const despair = () => this.end({ error: new NatsError('The consumer does not answer.', ErrorCode.NoResponders) });
    const timer = setTimeout(despair, this.waitMs + patienceMs);
    signal.addEventListener('abort', giveUp);
    void lost.promise.then(despair);
    try {
      const outcome = await this.ask();
      if ('error' in outcome) throw outcome.error;
      return outcome.event;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      lost.forget();
    }
  }

  private ask(): Promise<Outcome> {
    this.count += 1;
    const request = JSON.stringify({ batch: 1, expires: nanos(this.waitMs) });
    this.link.connection.publish(this.subject, request, { reply: this.reply });
    return new Promise((resolve) => (this.waiting = resolve));
  }

  /** Reply subject of the newest pull. An event arrives under its own subject. */
  private get reply(): string {
    return `${this.inbox}.${this.count}`;
  }

  private receive(message: Msg): void {
    if (!message.subject.startsWith(this.inbox)) {
      const event = toJsMsg(message);
      if (!this.end({ event })) event.nak();
    } else if (message.subject === this.reply) {
      this.end(outcomeOf(message));
    }
  }

  private end(outcome: Outcome): boolean {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.(outcome);
    return waiting !== undefined;
  }
}

/** 404 and 408: no event. Any other status: the pull or its consumer is invalid. */
function outcomeOf({ headers }: Msg): Outcome {
  const code = headers?.code ?? 0;
  if (code === 404 || code === 408) return { event: null };
  return { error: new NatsError(headers?.description ?? '', String(code)) };
}
