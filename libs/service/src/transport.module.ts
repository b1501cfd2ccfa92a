import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import type { Contract } from '@parley/contracts/operation';
import { ParleyClient } from '@parley/transport/parley-client';
import { ParleyServer, type ParleyServerOptions } from '@parley/transport/parley-server';
import type { FastifyInstance } from 'fastify';
import { ApiExceptionFilter } from './api-exception.filter';
import type { ProcessConfig } from './config';
import { Connections } from './connections';
import { HealthController, Readiness, type ReadinessCheck, readinessChecks } from './health.controller';
import type { MetricsSettings } from './metrics-access';
import type { Platform } from './platform';
import { metricsSettings, platformToken } from './tokens';

const configToken = Symbol('parley:transport');

interface TransportOptions {
  /** Name of the app, as its permissions on NATS have it. */
  name: string;
  /** Operations that the app serves. */
  contract?: Contract;
  /** Stores an event that failed too often. Without it, such an event is delivered again until it succeeds. */
  deadLetter?: ParleyServerOptions['deadLetter'];
}

/** Common providers of an app without a database, such as the gateway. Import it once per app module. */
@Module({})
export class TransportModule {
  static register(options: TransportOptions, config: ProcessConfig, platform: Platform): DynamicModule {
    const { name, contract = {}, deadLetter } = options;
    const { driver, events, logger, metrics } = platform;
    const server = new ParleyServer({
      service: name,
      contract,
      driver,
      events,
      logger,
      deadLetter,
      observe: (handled) => metrics.observeHandled(handled),
    });
    return {
      module: TransportModule,
      global: true,
      controllers: [HealthController],
      providers: [
        ...platformProviders(platform, config),
        { provide: ParleyServer, useValue: server },
        { provide: configToken, useValue: config },
        {
          provide: readinessChecks,
          useValue: [{ name: 'bus', check: () => driver.ready() }] satisfies ReadinessCheck[],
        },
        Readiness,
        TransportLifecycle,
      ],
      exports: [platformToken, ParleyClient, ParleyServer, Connections, ApiExceptionFilter, Readiness],
    };
  }
}

/** Providers of every app, with a database or without. */
export function platformProviders(platform: Platform, config: MetricsSettings): Provider[] {
  return [
    { provide: platformToken, useValue: platform },
    { provide: metricsSettings, useValue: config },
    { provide: ParleyClient, useFactory: () => new ParleyClient(platform.driver) },
    ApiExceptionFilter,
    { provide: APP_FILTER, useExisting: ApiExceptionFilter },
    {
      provide: Connections,
      useFactory: ({ httpAdapter }: HttpAdapterHost) =>
        new Connections(httpAdapter.getInstance<FastifyInstance>().server),
      inject: [HttpAdapterHost],
    },
  ];
}

/** Stop: requests over HTTP and messages, then the connection to the bus. Requests over HTTP may need it. */
@Injectable()
class TransportLifecycle implements OnModuleDestroy, OnApplicationShutdown {
  constructor(
    private readonly connections: Connections,
    private readonly server: ParleyServer,
    @Inject(platformToken) private readonly platform: Platform,
    @Inject(configToken) private readonly config: ProcessConfig,
  ) {}

  async onModuleDestroy(): Promise<void> {
    const { shutdownTimeoutMs } = this.config;
    await Promise.all([this.connections.close(shutdownTimeoutMs), this.server.drain(shutdownTimeoutMs)]);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.platform.driver.close();
  }
}
