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
import { DiscoveryModule, DiscoveryService, HttpAdapterHost } from '@nestjs/core';
import { Bus } from '@parley/bus/bus';
import { Dispatcher } from '@parley/bus/dispatcher';
import type { Contract } from '@parley/contracts/operation';
import { Database, type MigrationClass } from '@parley/database/database';
import { DeadLettersRepository } from '@parley/outbox/dead-letters.repository';
import { Inbox } from '@parley/outbox/inbox';
import { Outbox } from '@parley/outbox/outbox';
import { outboxMigrations, OutboxRepository } from '@parley/outbox/outbox.repository';
import { Relay } from '@parley/outbox/relay';
import type { FastifyInstance } from 'fastify';
import type { ServiceConfig } from './config';
import { Connections } from './connections';
import { HealthController, Readiness, type ReadinessCheck, readinessChecks } from './health.controller';
import type { Platform } from './platform';
import { platformToken } from './tokens';

const optionsToken = Symbol('parley:service');

export interface ServiceOptions {
  /** Also the queue that its replicas share. */
  name: string;
  contract: Contract;
  /** The schema that it owns, and how to reach it. */
  database: { schema: string; migrations: MigrationClass[]; config: ServiceConfig };
}

/** What a service needs to answer operations and consume events on a schema of its own. Imported once by each app's module. */
@Module({})
export class ServiceModule {
  static register(options: ServiceOptions, platform: Platform): DynamicModule {
    return {
      module: ServiceModule,
      global: true,
      imports: [DiscoveryModule],
      controllers: [HealthController],
      providers: [
        { provide: optionsToken, useValue: options },
        ...platformProviders(platform),
        ...databaseProviders(options, platform),
        {
          provide: readinessChecks,
          useFactory: (database: Database): ReadinessCheck[] => [
            { name: 'bus', check: () => platform.transport.ready() },
            { name: 'database', check: () => database.query('SELECT 1') },
          ],
          inject: [Database],
        },
        Readiness,
        ServiceLifecycle,
      ],
      exports: [platformToken, Bus, Database, Outbox, Inbox, DeadLettersRepository],
    };
  }
}

export function platformProviders(platform: Platform): Provider[] {
  return [
    { provide: platformToken, useValue: platform },
    { provide: Bus, useFactory: () => new Bus(platform.transport) },
    {
      provide: Connections,
      useFactory: ({ httpAdapter }: HttpAdapterHost) =>
        new Connections(httpAdapter.getInstance<FastifyInstance>().server),
      inject: [HttpAdapterHost],
    },
  ];
}

/** Migrations of a service: the tables of the outbox, then its own. */
export function serviceMigrations(own: MigrationClass[]): MigrationClass[] {
  return [...outboxMigrations, ...own];
}

function databaseProviders(
  { database: { schema, migrations, config } }: ServiceOptions,
  platform: Platform,
): Provider[] {
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
        });
        if (platform.migrateAtStart) await database.migrate();
        const pending = await database.pendingMigrations();
        if (pending.length === 0) return database;
        await database.close();
        throw new Error(
          `The schema "${schema}" lacks ${pending.length} migrations (${pending.join(', ')}): run \`npm run migrate\` first.`,
        );
      },
    },
    Outbox,
    ...[Inbox, DeadLettersRepository, OutboxRepository].map((type) => ({
      provide: type,
      useFactory: (database: Database) => new type(database),
      inject: [Database],
    })),
  ];
}

/**
 * Starts answering when everything is there, and stops in the order in which nothing is lost: first what others wait
 * for ends, then what this app does by itself (`beforeApplicationShutdown` of its providers), then what all of it needs.
 */
@Injectable()
class ServiceLifecycle implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly relay: Relay;

  constructor(
    @Inject(platformToken) private readonly platform: Platform,
    @Inject(optionsToken) private readonly options: ServiceOptions,
    private readonly database: Database,
    private readonly discovery: DiscoveryService,
    private readonly letters: DeadLettersRepository,
    private readonly outboxRows: OutboxRepository,
    private readonly connections: Connections,
    outbox: Outbox,
  ) {
    this.relay = new Relay(outboxRows, platform.events, platform.logger);
    outbox.onCommit(() => this.relay.wake());
  }

  async onApplicationBootstrap(): Promise<void> {
    const { transport, events, logger, metrics } = this.platform;
    const { name, contract } = this.options;
    const dispatcher = new Dispatcher(
      {
        service: name,
        contract,
        transport,
        events,
        logger,
        bury: (consumer, event, attempts, reason) => this.letters.add(consumer, event, attempts, reason),
        observe: (handled) => metrics.observeHandled(handled),
      },
      this.discovery,
    );
    await dispatcher.start();
    this.relay.start();
    metrics.gauge(`parley_outbox_unpublished_${name.replaceAll('-', '_')}`, 'Events that wait to be published.', () =>
      this.outboxRows.countUnpublished(),
    );
  }

  async onModuleDestroy(): Promise<void> {
    const { transport, events } = this.platform;
    const { shutdownTimeoutMs } = this.options.database.config;
    await Promise.all([this.connections.close(shutdownTimeoutMs), transport.drain(shutdownTimeoutMs), events.drain()]);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.relay.stop();
    await this.publishTheLast();
    await this.database.close();
    await this.platform.transport.close();
  }

  /** What was committed a moment ago need not wait for another process. */
  private async publishTheLast(): Promise<void> {
    try {
      while (await this.relay.publish());
    } catch (error) {
      this.platform.logger.warn({ err: error }, 'the last events wait for the next process');
    }
  }
}
