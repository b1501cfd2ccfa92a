import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ParleyClient } from '@parley/transport/parley-client';
import { ParleyServer } from '@parley/transport/parley-server';
import { retentionHours } from '@parley/transport/event-stream';
import type { InstanceOperation, Operation } from '@parley/contracts/operation';
import { Database } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { ServiceDataSource } from '@parley/persistence/service-data-source';
import { DeadLettersRepository } from '@parley/events/dead-letters.repository';
import { Inbox } from '@parley/events/inbox';
import { Outbox } from '@parley/events/outbox';
import { OutboxRepository } from '@parley/events/outbox.repository';
import { Relay } from '@parley/events/relay';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { WorkRepository } from '@parley/work-queue/work.repository';
import { WorkService } from '@parley/work-queue/work.service';
import { Every } from '@parley/work-queue/worker';
import type { ServiceOptions } from './service-options';
import { ConcurrencyLimiter } from './concurrency-limiter';
import { ApiExceptionFilter } from './api-exception.filter';
import { Connections } from './connections';
import { HealthController, Readiness, type ReadinessCheck, readinessChecks } from './health.controller';
import type { Platform } from './platform';
import { platformToken } from './tokens';
import { backgroundProviders } from './background-providers';
import { platformProviders } from './transport.module';

const optionsToken = Symbol('parley:service');
/** Rows are kept for days: how often they are deleted does not matter. */
const cleanMs = 600_000;
/** In the only process, each commit wakes the relay: the poll finds only rows whose commit was not confirmed. */
const relayAloneMs = 15_000;

/** Common providers of a service with a database: bus, database, outbox, idempotency. Import it once per app module. */
@Module({})
export class ServiceModule {
  static register(options: ServiceOptions, platform: Platform): DynamicModule {
    return {
      module: ServiceModule,
      global: true,
      imports: [
        DiscoveryModule,
        TypeOrmModule.forRootAsync({
          // Services of the embedded mode share the register of names.
          name: options.name,
          // Reported at once: the supervisor of the process starts it again.
          useFactory: () => ({ type: 'postgres', toRetry: () => false }),
          dataSourceFactory: () => openDataSource(options, platform),
        }),
      ],
      controllers: [HealthController],
      providers: [
        { provide: optionsToken, useValue: options },
        ...platformProviders(platform, options.database.config),
        { provide: getDataSourceToken(), useExisting: getDataSourceToken(options.name) },
        {
          provide: Database,
          useFactory: (source: ServiceDataSource) => new Database(source),
          inject: [getDataSourceToken()],
        },
        Outbox,
        ...[Inbox, Idempotency, DeadLettersRepository, OutboxRepository].map((type) => ({
          provide: type,
          useFactory: (database: Database) => new type(database),
          inject: [Database],
        })),
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
        ...backgroundProviders(options, platform),
        ServiceLifecycle,
      ],
      exports: [
        platformToken,
        ParleyClient,
        ParleyServer,
        ApiExceptionFilter,
        getDataSourceToken(),
        Database,
        Outbox,
        Inbox,
        Idempotency,
        DeadLettersRepository,
        Readiness,
        BackgroundTasks,
        WorkRepository,
        WorkQueue,
        WorkService,
      ],
    };
  }
}

/** Opens the data source, and runs the migrations or requires that they have run. */
async function openDataSource(
  { name, database: { config, ...schema } }: ServiceOptions,
  { metrics, migrateAtStart, started }: Platform,
): Promise<ServiceDataSource> {
  const place = `${name} waiting for the database`;
  const source = await ServiceDataSource.open({
    ...schema,
    url: config.databaseUrl,
    started,
    poolSize: config.databasePoolSize,
    statementTimeoutMs: config.statementTimeoutMs,
    onShed: () => metrics.countShed(place, 'queue'),
    onWritesRefused: () => metrics.countWritesRefused('database'),
  });
  metrics.watchUnderWay(place, () => source.pool.waitingCount);
  try {
    await prepareSchema(new Database(source), migrateAtStart);
    return source;
  } catch (error) {
    await source.destroy();
    throw error;
  }
}

async function prepareSchema(database: Database, migrateAtStart: boolean): Promise<void> {
  if (migrateAtStart) return database.migrate();
  const pending = await database.pendingMigrations();
  if (pending.length > 0) {
    throw new Error(
      `The schema "${database.schema}" has ${pending.length} pending migrations (${pending.join(', ')}): run \`npm run migrate\` first.`,
    );
  }
}

function parleyServer(
  { name, contract, consumers, database }: ServiceOptions,
  { driver, events, logger, metrics }: Platform,
  letters: DeadLettersRepository,
): ParleyServer {
  const { serviceMaxInFlight: max, maxLoopDelayMs } = database.config;
  const limiter = new ConcurrencyLimiter({ place: name, max, maxLoopDelayMs, metrics });
  return new ParleyServer({
    service: name,
    contract,
    consumers,
    driver,
    events,
    logger,
    deadLetter: (consumer, event, attempts, reason) => letters.insertDeadLetter(consumer, event, attempts, reason),
    observe: (handled) => metrics.observeHandled(handled),
    admit: (operation) => (isForClients(operation) ? limiter.enter() : limiter.enterAnyway()),
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
 * (`beforeApplicationShutdown` of its providers) and after it the outbox, then database and bus
 * (`onApplicationShutdown`). Nest itself would close the server of the bus only after the background work.
 */
@Injectable()
class ServiceLifecycle
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly relay: Relay;

  constructor(
    @Inject(platformToken) private readonly platform: Platform,
    @Inject(optionsToken) private readonly options: ServiceOptions,
    private readonly database: Database,
    private readonly letters: DeadLettersRepository,
    private readonly outboxRows: OutboxRepository,
    private readonly idempotency: Idempotency,
    private readonly connections: Connections,
    private readonly server: ParleyServer,
    private readonly background: BackgroundTasks,
    outbox: Outbox,
  ) {
    this.relay = new Relay(
      outboxRows,
      platform.events,
      platform.logger,
      platform.isOnlyProcess ? relayAloneMs : undefined,
    );
    outbox.onCommit(() => this.relay.wake());
  }

  async onApplicationBootstrap(): Promise<void> {
    this.relay.start();
    this.measure();
    await this.background.start();
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
      async () => (await outboxRows.measureBacklog()).count,
    );
    gauge(
      'parley_outbox_oldest_unpublished_seconds',
      'Age of the oldest unpublished event in seconds; 0 without one.',
      async () => (await outboxRows.measureBacklog()).oldestSeconds,
    );
    gauge('parley_dead_letters', 'Dead letters: events that were given up after all attempts.', () =>
      letters.countDeadLetters(),
    );
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
    this.background.beginStop();
    await Promise.all([this.connections.close(shutdownTimeoutMs), this.server.drain(shutdownTimeoutMs)]);
  }

  /**
   * After the background work, which adds events. Events of requests that outlive the shutdown timeout stay in the outbox
   * for the next process.
   */
  async beforeApplicationShutdown(): Promise<void> {
    await this.background.stop();
    await this.relay.stop();
    await this.publishTheLast();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.platform.driver.close();
  }

  @Every({ name: 'service.clean', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.outboxRows.deletePublished(retentionHours);
    // Inbox rows must outlive redelivery: an outbox row is kept for one retention time, and an event that is published
    // last stays in the stream for another.
    await this.outboxRows.deleteReceived(2 * retentionHours);
    await this.idempotency.deleteExpired();
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
