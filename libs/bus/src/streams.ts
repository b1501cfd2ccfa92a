import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import { ackWaitMs, retentionHours } from './event-stream';
import { bodyPlace, bodyStream, durableName, eventPlace, eventStream, repeatPlace, repeatsName } from './places';

/** What the server keeps for a consumer of the contracts: how far it is in the events of one place. */
export interface Durable {
  name: string;
  place: string;
}

type Wanted<T> = Partial<T>;
type WantedStream = Wanted<StreamConfig> & { name: string };

/** Why each value is as it is: docs/decisions/0032-least-permissions-on-nats.md. */
export function eventStreamConfig(replicas: number): WantedStream {
  return {
    name: eventStream,
    subjects: [eventPlace('>')],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    max_age: nanos(retentionHours * 3_600_000),
    // Full, it takes no more, and what is new waits in the outbox: nothing that it took may be dropped for it.
    discard: DiscardPolicy.New,
    duplicate_window: nanos(2 * 60_000),
    num_replicas: replicas,
  };
}

/** Bodies that are too large for one message. Full, it takes no more: whoever sends one is told so at once. */
export function bodyStreamConfig(replicas: number): WantedStream {
  return {
    name: bodyStream,
    subjects: [bodyPlace('*', '*.*')],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    // Longer than any deadline. Senders give the room back long before that, unless they end.
    max_age: nanos(2 * 60_000),
    max_bytes: 1024 * 1024 * 1024,
    discard: DiscardPolicy.New,
    duplicate_window: nanos(2 * 60_000),
    // A piece is emptied by an empty message in its place.
    max_msgs_per_subject: 1,
    // Read by subject, so that the server can tell who may read what.
    allow_direct: true,
    num_replicas: replicas,
  };
}

/** The events of a consumer, and those that it had given up and gets once more. */
export function durablesOf(consumer: string, subject: string): { events: Durable; repeats: Durable } {
  return {
    events: { name: durableName(consumer), place: eventPlace(subject) },
    repeats: { name: repeatsName(consumer), place: repeatPlace(consumer) },
  };
}

export function durableConfig({ name, place }: Durable, waitMs = ackWaitMs): Wanted<ConsumerConfig> {
  return {
    durable_name: name,
    filter_subject: place,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(waitMs),
    max_ack_pending: 1000,
    // Deliveries are bounded by ourselves: JetStream would only stop, and the event would be forgotten.
    max_deliver: -1,
  };
}

/** Makes what is missing and changes what is different. Says what it did, as `made`, `up to date` or what it changed. */
export async function bringStreamUpToDate({ streams }: JetStreamManager, wanted: WantedStream): Promise<string> {
  const found = await unlessGone(streams.info(wanted.name));
  if (!found) return streams.add(wanted).then(() => 'made');
  const changes = differences(found.config, wanted);
  if (changes.length > 0) await streams.update(wanted.name, { ...found.config, ...wanted });
  return told(changes);
}

/** The same for a durable of the event stream. What it has taken already stays taken. */
export async function bringDurableUpToDate({ consumers }: JetStreamManager, durable: Durable): Promise<string> {
  const wanted = durableConfig(durable);
  const found = await unlessGone(consumers.info(eventStream, durable.name));
  if (!found) return consumers.add(eventStream, wanted).then(() => 'made');
  const changes = differences(found.config, wanted);
  if (changes.length > 0) await consumers.update(eventStream, durable.name, { ...found.config, ...wanted });
  return told(changes);
}

/** Undefined only where the server says for sure that it does not have it. */
export async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof NatsError && error.api_error?.code === 404) return undefined;
    throw error;
  }
}

function differences<T extends object>(found: T, wanted: Wanted<T>): string[] {
  const [before, now] = [new Map(Object.entries(found)), Object.entries(wanted)];
  return now
    .filter(([key, value]) => JSON.stringify(before.get(key)) !== JSON.stringify(value))
    .map(([key, value]) => `${key} from ${JSON.stringify(before.get(key))} to ${JSON.stringify(value)}`);
}

function told(changes: string[]): string {
  return changes.length > 0 ? `changed ${changes.join(', ')}` : 'up to date';
}
