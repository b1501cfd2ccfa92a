import {
  AckPolicy,
  type ConsumerAPI,
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
import {
  bodySubject,
  bodyStream,
  durableName,
  eventSubject,
  eventStream,
  repeatSubject,
  repeatsName,
} from './subjects';

/** Durable consumer of JetStream: its position in the events of one subject. */
export interface Durable {
  name: string;
  subject: string;
}

type StreamSettings = Partial<StreamConfig> & { name: string };
type DurableSettings = Partial<ConsumerConfig> & { durable_name: string };

/** JetStream's error code for a consumer that could not be created or changed. */
const consumerNotStored = 10012;

/** Configuration of the event stream. Reasons for each value: docs/decisions/0032-nats-permissions.md. */
export function eventStreamConfig(replicas: number): StreamSettings {
  return {
    name: eventStream,
    subjects: [eventSubject('>')],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    max_age: nanos(retentionHours * 3_600_000),
    // A full stream rejects new events, which wait in the outbox: stored ones must not be dropped.
    discard: DiscardPolicy.New,
    duplicate_window: nanos(2 * 60_000),
    num_replicas: replicas,
  };
}

/** Bodies above the size of one message. A full stream rejects new ones, and their sender gets an error at once. */
export function bodyStreamConfig(replicas: number): StreamSettings {
  return {
    name: bodyStream,
    subjects: [bodySubject('*', '*.*')],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    // Longer than any deadline. Senders delete their bodies long before, unless their process ends.
    max_age: nanos(2 * 60_000),
    max_bytes: 1024 * 1024 * 1024,
    discard: DiscardPolicy.New,
    duplicate_window: nanos(2 * 60_000),
    // An empty message replaces a piece to free its space.
    max_msgs_per_subject: 1,
    // Direct reads by subject, so that permissions can restrict who reads which body.
    allow_direct: true,
    num_replicas: replicas,
  };
}

/** Durable consumers of a consumer: for its events, and for replayed dead letters. */
export function durablesOf(consumer: string, subject: string): { events: Durable; repeats: Durable } {
  return {
    events: { name: durableName(consumer), subject: eventSubject(subject) },
    repeats: { name: repeatsName(consumer), subject: repeatSubject(consumer) },
  };
}

export function durableConfig({ name, subject }: Durable, waitMs = ackWaitMs): DurableSettings {
  return {
    durable_name: name,
    filter_subject: subject,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(waitMs),
    max_ack_pending: 1000,
    // Our own code limits deliveries: JetStream would only stop delivering, and the event would be forgotten.
    max_deliver: -1,
  };
}

/** Creates or updates a stream. Returns `made`, `up to date` or the changes. */
export async function bringStreamUpToDate({ streams }: JetStreamManager, desired: StreamSettings): Promise<string> {
  const found = await unlessGone(streams.info(desired.name));
  if (!found) return streams.add(desired).then(() => 'made');
  const changes = differences(found.config, desired);
  if (changes.length > 0) await streams.update(desired.name, { ...found.config, ...desired });
  return changesText(changes);
}

/** Creates or updates a durable consumer of the event stream. Keeps its position, unless it is damaged. */
export async function bringDurableUpToDate(manager: JetStreamManager, durable: Durable): Promise<string> {
  const { consumers } = manager;
  const desired = durableConfig(durable);
  const found = await unlessGone(consumers.info(eventStream, durable.name));
  const changes = found ? differences(found.config, desired) : [];
  const change = () => consumers.update(eventStream, durable.name, { ...found?.config, ...desired });
  const damage = await putDurable(manager, desired, changes.length > 0 ? change : undefined);
  if (damage) return `replaced, since it was damaged (${damage.message})`;
  return found ? changesText(changes) : 'made';
}

/**
 * Creates a durable consumer unless it exists. Replaces one that the server cannot store, and resolves to the server's error: the
 * new one delivers all stored events again, of which inboxes drop those that were handled.
 *
 * @param put updates the consumer instead
 */
export async function putDurable(
  { consumers }: JetStreamManager,
  config: DurableSettings,
  put: () => Promise<unknown> = () => consumers.add(eventStream, config),
): Promise<Error | undefined> {
  try {
    await put();
    return undefined;
  } catch (error) {
    if (!isDamage(error)) throw error;
    await deleteDamaged(consumers, config.durable_name, error);
    await consumers.add(eventStream, config);
    return error;
  }
}

/** The server has lost the folder of a consumer that it keeps in memory, and refuses each change of it until its next start. */
function isDamage(error: unknown): error is NatsError {
  const { err_code: code, description = '' } = (error instanceof NatsError && error.api_error) || {};
  return code === consumerNotStored && description.includes('no such file or directory');
}

async function deleteDamaged(consumers: ConsumerAPI, name: string, damage: NatsError): Promise<void> {
  try {
    // Another process may have deleted it already.
    await unlessGone(consumers.delete(eventStream, name));
  } catch (error) {
    throw new Error(
      `NATS cannot store its consumer "${name}" (${damage.message}), and does not let this app delete it. Configure the server with the permissions of this version (deploy/nats), run "npm run streams", which replaces the consumer, or restart the server.`,
      { cause: error },
    );
  }
}

/** Undefined only on 404, where the server itself confirms that the object does not exist. */
export async function unlessGone<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof NatsError && error.api_error?.code === 404) return undefined;
    throw error;
  }
}

function differences<T extends object>(found: T, desired: Partial<T>): string[] {
  const [before, now] = [new Map(Object.entries(found)), Object.entries(desired)];
  return now
    .filter(([key, value]) => JSON.stringify(before.get(key)) !== JSON.stringify(value))
    .map(([key, value]) => `${key} from ${JSON.stringify(before.get(key))} to ${JSON.stringify(value)}`);
}

function changesText(changes: string[]): string {
  return changes.length > 0 ? `changed ${changes.join(', ')}` : 'up to date';
}
