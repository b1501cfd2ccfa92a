import type { Consumer } from '@parley/contracts/operation';

/** Event in transit. Its id is the id of its outbox row and identifies repeats. */
export interface EventMessage {
  id: string;
  subject: string;
  data: unknown;
  traceparent?: string;
  /** Set on a replayed dead letter: only this consumer receives it. */
  again?: { consumer: string; messageId: string };
}

/** Deduplication id: the stream stores only one of several messages with the same id. */
export function messageIdOf({ id, again }: EventMessage): string {
  return again?.messageId ?? id;
}

export interface Delivery {
  event: EventMessage;
  /** Delivery attempt, from 1. */
  attempt: number;
  /** Aborted when this process stops: throw, and the event is delivered again. */
  signal: AbortSignal;
}

/** Consumer of the contracts that runs in this process. */
export interface WorkingConsumer {
  /** Durable name, unique on the platform: processes with the same name share the events. */
  name: string;
  subject: string;
  /** Events handled at once in this process. */
  concurrency: number;
  /** Deliveries after which an event becomes a dead letter. */
  maxDeliveries: number;
  /** Return to acknowledge, throw to have the event redelivered later. */
  handle(delivery: Delivery): Promise<void>;
  /** Stores an event without deliveries left. Must be durable on return. */
  deadLetter(event: EventMessage, attempts: number, reason: string): Promise<void>;
}

export interface StreamPosition {
  sequence: number;
  messageId: string;
}

/** Event stream with durable consumers: at-least-once delivery, no guaranteed order. */
export interface EventStream {
  /** False until every consumer is registered: publishing fails before that. */
  readonly isOpen: boolean;
  /** False for a stream that is stored with the outbox. Positions are kept, and losses looked for, only where it is true. */
  readonly canLose: boolean;
  /** Resolves to the position of the last stored event, or undefined when the stream cannot lose any. Idempotent. */
  publish(events: EventMessage[]): Promise<StreamPosition | undefined>;
  /**
   * In a stream that is stored with the outbox: moves the oldest events of the outbox of this schema into the stream, in one
   * statement. Replays stay. Returns how many events it has found, and whether there are replays among them.
   */
  moveFrom?(schema: string, limit: number): Promise<{ found: number; hasReplays: boolean }>;
  /** False when the message was lost or replaced before its retention ended: the stream has lost events. */
  keeps(position: StreamPosition): Promise<boolean>;
  consume(consumer: WorkingConsumer): Promise<void>;
  /** Whether a process works on the events of this consumer. It may take some seconds to find that none does. */
  isConsumed(consumer: Pick<Consumer, 'name'>): Promise<boolean>;
  /** Takes no further events, aborts handlers that are running and resolves when they have ended. */
  drain(): Promise<void>;
}

/** Retention of events in the stream and of published outbox rows, in hours: the outbox refills a lost stream. */
export const retentionHours = 72;
/** Ack wait: how long an event stays leased to a process without a heartbeat. */
export const ackWaitMs = 15_000;
export const heartbeatMs = 5_000;
