import type { WorkingConsumer, Delivery, EventMessage } from '@parley/transport/event-stream';
import { type Event, event } from '@parley/contracts/operation';
import { Database } from '@parley/persistence/database';
import { createLogger } from '@parley/logging/logger';
import { plainSchema } from '@parley/testing/plain-schema';
import { copyDatabase, createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { eventsSchema } from '../events-schema';
import { Outbox } from '../outbox';

export const silent = createLogger('test', 'silent');

export class Happened {
  number!: number;
}

export const happened: Event<Happened> = event({ subject: 'probe.happened', data: Happened });

/** Database with the schema of one service and that of the embedded event stream. */
export interface OutboxDatabase {
  url: string;
  service: Database;
  events: Database;
  drop(): Promise<void>;
}

let migrated: Promise<EmptyDatabase> | undefined;

export async function createOutboxDatabase(): Promise<OutboxDatabase> {
  const copy = await copyDatabase(await (migrated ??= createMigrated()));
  const { url } = copy;
  const [service, events] = await openBoth(url);
  return {
    url,
    service,
    events,
    drop: async () => {
      await Promise.all([service.close(), events.close()]);
      await copy.drop();
    },
  };
}

async function createMigrated(): Promise<EmptyDatabase> {
  const empty = await createEmptyDatabase();
  const both = await openBoth(empty.url);
  await Promise.all(both.map((database) => database.migrate()));
  await Promise.all(both.map((database) => database.close()));
  return empty;
}

function openBoth(url: string): Promise<[service: Database, events: Database]> {
  return Promise.all([
    Database.open({ url, ...plainSchema('probe'), poolSize: 8 }),
    Database.open({ url, ...eventsSchema, poolSize: 6 }),
  ]);
}

export async function announce(service: Database, numbers: number[]): Promise<void> {
  await service.transaction((tx) =>
    new Outbox().addAll(
      tx,
      happened,
      numbers.map((number) => ({ number })),
    ),
  );
}

export async function unpublished(service: Database): Promise<number> {
  const [row] = await service.query<{ count: string }>('SELECT count(*) FROM outbox WHERE published_at IS NULL');
  return Number(row!.count);
}

export function consumerOf(name: string, options: Partial<WorkingConsumer> = {}) {
  const deliveries: Delivery[] = [];
  const deadLetters: { event: EventMessage; attempts: number; reason: string }[] = [];
  const consumer: WorkingConsumer = {
    name,
    subject: happened.subject,
    concurrency: 1,
    maxDeliveries: 10,
    deadLetter: async (dead, attempts, reason) => void deadLetters.push({ event: dead, attempts, reason }),
    ...options,
    handle: async (delivery) => {
      deliveries.push(delivery);
      await options.handle?.(delivery);
    },
  };
  return { consumer, deliveries, deadLetters, numbers: () => deliveries.map(numberOf) };
}

export function numberOf({ event: { data } }: Pick<Delivery, 'event'>): number {
  return (data as Happened).number;
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
