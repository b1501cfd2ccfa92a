/** An event on its way: the id is that of its outbox row, so that a repeat can be told. */
export interface EventMessage {
  id: string;
  /** `<service>.<past tense>`. */
  subject: string;
  data: unknown;
  /** W3C trace context in which it was announced. */
  traceparent?: string;
  /** Set when one consumer that had given the event up gets it once more. It is for no other. */
  again?: { consumer: string; messageId: string };
}

/** Of two messages with the same id the stream keeps one. */
export function messageIdOf({ id, again }: EventMessage): string {
  return again?.messageId ?? id;
}

export interface Delivery {
  event: EventMessage;
  /** 1 the first time. */
  attempt: number;
  /** Aborted when this process stops: give up, and the event comes again. */
  signal: AbortSignal;
}

/** A consumer of the contracts at work in this process. */
export interface WorkingConsumer {
  /** Durable name, unique on the platform: all processes of this name share the work. */
  name: string;
  subject: string;
  /** Events worked on at once in this process. */
  concurrency: number;
  /** Deliveries after which an event is dead. */
  maxDeliveries: number;
  /** Return to acknowledge, throw to have it delivered again later. */
  handle(delivery: Delivery): Promise<void>;
  /** Keeps what is out of deliveries. Must be durable when it returns. */
  bury(event: EventMessage, attempts: number, reason: string): Promise<void>;
}

/** Where a stream keeps a message. */
export interface StreamPlace {
  sequence: number;
  messageId: string;
}

/** Carries events to durable consumers: at least once, in no promised order. */
export interface EventStream {
  /** False while not every consumer is known: nothing may be published yet. */
  readonly isOpen: boolean;
  /**
   * Resolves when every event is stored, with the place of the last one unless the stream cannot lose any. Publishing
   * one twice is harmless.
   */
  publish(events: EventMessage[]): Promise<StreamPlace | undefined>;
  /** False when the message is no longer there, or another one is, before its time is over: the stream has lost events. */
  keeps(place: StreamPlace): Promise<boolean>;
  consume(consumer: WorkingConsumer): Promise<void>;
  /** Takes no further events, aborts those under way and resolves when their handlers have ended. */
  drain(): Promise<void>;
}

/**
 * How long a stream keeps an event, and an outbox one that it has published, so that a stream which was lost can be
 * filled again.
 */
export const retentionHours = 72;

/** Pause before the next delivery: 1 s, 2 s, 4 s … at most a minute. */
export function redeliveryDelayMs(attempt: number): number {
  return Math.min(1000 * 2 ** (attempt - 1), 60_000);
}

/** How long an event stays with a process that has stopped saying that it works on it, or that it never reached. */
export const ackWaitMs = 15_000;
export const heartbeatMs = 5_000;
