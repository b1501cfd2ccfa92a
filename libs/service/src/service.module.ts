import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type Provider,
} from '@nestjs/common';
import { Loop } from '@parley/background/loop';
import { ParleyClient } from '@parley/transport/parley-client';
import { ParleyServer } from '@parley/transport/parley-server';
import { retentionHours } from '@parley/transport/event-stream';
import type { Consumer, Contract, InstanceOperation, Operation } from '@parley/contracts/operation';
import { Database, type MigrationClass } from '@parley/persistence/database';
import { Idempotency, idempotencyMigrations } from '@parley/persistence/idempotency';
import { DeadLettersRepository } from '@parley/events/dead-letters.repository';
import { Inbox } from '@parley/events/inbox';
import { Outbox } from '@parley/events/outbox';
import { outboxMigrations, OutboxRepository } from '@parley/events/outbox.repository';
import { Relay } from '@parley/events/relay';
import { Admission } from './admission';
import { ApiExceptionFilter } from './api-exception.filter';
import type { ServiceConfig } from './config';
import { Connections } from './connections';
import { HealthController, Readiness, type ReadinessCheck, readinessChecks } from './health.controller';
import type { Platform } from './platform';
import { platformToken } from './tokens';
import { platformProviders } from './transport.module';

const optionsToken = Symbol('parley:service');
const cleanMs = 60_000;

export interface ServiceOptions {
  name: string;
  contract: Contract;
  /** Consumers that must have a handler. */
  consumers?: Consumer[];
  database: { schema: string; migrations: MigrationClass[]; config: ServiceConfig };
}

/** Common providers of a service with a database: bus, database, outbox, idempotency. Import it once per app module. */
@Module({})
export class ServiceModule {
  static register(options: ServiceOptions, platform: Platform): DynamicModule {
    return {
      module: ServiceModule,
      global: true,
      controllers: [HealthController],
      providers: [
        { provide: optionsToken, useValue: options },
        ...platformProviders(platform, options.database.config),
        ...databaseProviders(options, platform),
        {
          provide: ParleyServer,
          useFactory: (letters: DeadLettersRepository) => parleyServer(options, platform, letters),
          inject: [DeadLettersRepository],
        },
        {
          provide: readinessChecks,
          useFactory: (database: Database): ReadinessCheck[] => [
            { name: 'bus', check: () => platform.driver.ready() },
            { name: 'database', check: () => database.ping() },
          ],
          inject: [Database],
        },
        Readiness,
        ServiceLifecycle,
      ],
      exports: [
        platformToken,
        ParleyClient,
        ParleyServer,
        ApiExceptionFilter,
        Database,
        Outbox,
        Inbox,
        Idempotency,
        DeadLettersRepository,
        Readiness,
      ],
    };
  }
}

export function serviceMigrations(own: MigrationClass[]): MigrationClass[] {
  return [...outboxMigrations, ...idempotencyMigrations, ...own];
}

function databaseProviders(
  { name, database: { schema, migrations, config } }: ServiceOptions,
  platform: Platform,
): Provider[] {
  const place = `${name} waiting for the database`;
  return [
    {
      provide: Database,
      useFactory: async () => {
        const all = serviceMigrations(migrations);
        const database = await Database.open({
          url: config.databaseUrl,
          schema,
          migrations: all,
          poolSize: config.databasePoolSize,
          statementTimeoutMs: config.statementTimeoutMs,
          maxWaiting: config.databaseMaxWaiting,
          onShed: () => platform.metrics.countShed(place, 'queue'),
          onWritesRefused: () => platform.metrics.countWritesRefused('database'),
        });
        platform.metrics.watchUnderWay(place, () => database.waiting);
        if (platform.migrateAtStart) await database.migrate();
        const pending = await database.pendingMigrations();
        if (pending.length === 0) return database;
        await database.close();
        throw new Error(
          `The schema "${schema}" has ${pending.length} pending migrations (${pending.join(', ')}): run \`npm run migrate\` first.`,
        );
      },
    },
    Outbox,
    ...[Inbox, Idempotency, DeadLettersRepository, OutboxRepository].map((type) => ({
      provide: type,
      useFactory: (database: Database) => new type(database),
      inject: [Database],
    })),
  ];
}

function parleyServer(
  { name, contract, consumers, database }: ServiceOptions,
  { driver, events, logger, metrics }: Platform,
  letters: DeadLettersRepository,
): ParleyServer {
  const { serviceMaxInFlight: max, maxLoopDelayMs } = database.config;
  const admission = new Admission({ place: name, max, maxLoopDelayMs, metrics });
  return new ParleyServer({
    service: name,
    contract,
    consumers,
    driver,
    events,
    logger,
    deadLetter: (consumer, event, attempts, reason) => letters.add(consumer, event, attempts, reason),
    observe: (handled) => metrics.observeHandled(handled),
    admit: (operation) => (isForClients(operation) ? admission.enter() : admission.enterAnyway()),
  });
}

/**
 * Only client operations are subject to load shedding. Calls between services belong to admitted requests, and the
 * operator must be able to act during an overload.
 */
function isForClients(operation: Operation | InstanceOperation): boolean {
  if (operation.kind !== 'operation') return false;
  return operation.access.actor !== 'service' && operation.access.actor !== 'operator';
}

/**
 * Stop, in this order so that nothing is lost: requests and events (`onModuleDestroy`), then background work
 * (`beforeApplicationShutdown` of its providers), then outbox, database and bus. Nest itself would close the server of the
 * bus only after the background work.
 */
@Injectable()
class ServiceLifecycle implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly relay: Relay;
  private readonly cleaning: Loop;

  constructor(
    @Inject(platformToken) private readonly platform: Platform,
    @Inject(optionsToken) private readonly options: ServiceOptions,
    private readonly database: Database,
    private readonly letters: DeadLettersRepository,
    private readonly outboxRows: OutboxRepository,
    private readonly idempotency: Idempotency,
    private readonly connections: Connections,
    private readonly server: ParleyServer,
    outbox: Outbox,
  ) {
    this.relay = new Relay(outboxRows, platform.events, platform.logger);
    this.cleaning = new Loop({ name: 'service.clean', intervalMs: cleanMs, logger: platform.logger }, () =>
      this.clean(),
    );
    outbox.onCommit(() => this.relay.wake());
  }

  onApplicationBootstrap(): void {
    this.relay.start();
    this.cleaning.start();
    this.measure();
  }

  /** Gauges with the label `service`, because one process of the embedded mode runs several services. */
  private measure(): void {
    const { metrics } = this.platform;
    const gauge = (name: string, help: string, read: () => Promise<number>, labels: Record<string, string> = {}) =>
      metrics.gauge(name, help, read, { service: this.options.name, ...labels });
    const { outboxRows, letters, database } = this;
    gauge(
      'parley_outbox_unpublished',
      'Events in the outbox that are not published yet.',
      async () => (await outboxRows.measure()).count,
    );
    gauge(
      'parley_outbox_oldest_unpublished_seconds',
      'Age of the oldest unpublished event in seconds; 0 without one.',
      async () => (await outboxRows.measure()).oldestSeconds,
    );
    gauge('parley_dead_letters', 'Dead letters: events that were given up after all attempts.', () => letters.count());
    const help = 'Database connections by state, and queries waiting for one.';
    for (const state of ['inUse', 'idle', 'waiting'] as const) {
      const label = { state: state === 'inUse' ? 'in use' : state };
      gauge('parley_database_connections', help, () => Promise.resolve(database.use[state]), label);
    }
    gauge('parley_database_pool_size', 'Maximum number of database connections.', () =>
      Promise.resolve(database.use.size),
    );
  }

  async onModuleDestroy(): Promise<void> {
    const { shutdownTimeoutMs } = this.options.database.config;
    await Promise.all([this.connections.close(shutdownTimeoutMs), this.server.drain(shutdownTimeoutMs)]);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.relay.stop(), this.cleaning.stop()]);
    await this.publishTheLast();
    await this.database.close();
    await this.platform.driver.close();
  }

  private async clean(): Promise<boolean> {
    await this.outboxRows.deletePublished(retentionHours);
    // Inbox rows must outlive redelivery: an outbox row is kept for one retention time, and an event that is published
    // last stays in the stream for another.
    await this.outboxRows.deleteReceived(2 * retentionHours);
    await this.idempotency.deleteExpired();
    return false;
  }

  /** Publishes events that were committed during shutdown, instead of leaving them to another process. */
  private async publishTheLast(): Promise<void> {
    try {
      while (await this.relay.publish());
    } catch (error) {
      this.platform.logger.warn({ err: error }, 'publishing the last events failed; another process will publish them');
    }
  }
}
