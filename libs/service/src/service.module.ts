import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Bus } from '@parley/bus/bus';
import { Dispatcher } from '@parley/bus/dispatcher';
import type { Contract } from '@parley/contracts/operation';
import { Database, type MigrationClass } from '@parley/database/database';
import { DeadLettersRepository } from '@parley/outbox/dead-letters.repository';
import { Inbox } from '@parley/outbox/inbox';
import { Outbox } from '@parley/outbox/outbox';
import { outboxMigrations, OutboxRepository } from '@parley/outbox/outbox.repository';
import { Relay } from '@parley/outbox/relay';
import type { ServiceConfig } from './config';
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

/** Starts answering when everything is there, and stops in the order in which nothing is lost. */
@Injectable()
class ServiceLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly relay: Relay;

  constructor(
    @Inject(platformToken) private readonly platform: Platform,
    @Inject(optionsToken) private readonly options: ServiceOptions,
    private readonly database: Database,
    private readonly discovery: DiscoveryService,
    private readonly letters: DeadLettersRepository,
    private readonly outboxRows: OutboxRepository,
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

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.platform.transport.drain(), this.platform.events.drain()]);
    await this.relay.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.close();
    await this.platform.transport.close();
  }
}
