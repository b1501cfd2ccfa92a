import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { HealthController, Readiness, type ReadinessCheck, readinessChecks } from '@parley/service/health.controller';
import { Connections } from '@parley/service/connections';
import type { Platform } from '@parley/service/platform';
import { platformProviders } from '@parley/service/service.module';
import { platformToken } from '@parley/service/tokens';
import { LargeBodies } from './bodies/large-bodies';
import { CallerGuard } from './caller.guard';
import { ChatCallers } from './chat-callers';
import { GatewayConfig } from './config';
import { DocsController } from './docs.controller';
import { ErrorFilter } from '@parley/service/error.filter';
import { ForwardController } from './forward.controller';
import { ListenController } from './listen.controller';
import { Streams } from './listening/streams';
import { RateLimits } from './rate-limits';

/**
 * API gateway, the only public entry point: authenticates callers, validates input and forwards it to the owning
 * service.
 */
@Module({})
export class GatewayModule {
  static register(config: GatewayConfig, platform: Platform): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [HealthController, DocsController, ForwardController, ListenController],
      providers: [
        { provide: GatewayConfig, useValue: config },
        ...platformProviders(platform, config),
        {
          provide: readinessChecks,
          useValue: [{ name: 'bus', check: () => platform.transport.ready() }] satisfies ReadinessCheck[],
        },
        Readiness,
        GatewayLifecycle,
        CallerGuard,
        ChatCallers,
        LargeBodies,
        RateLimits,
        Streams,
        ErrorFilter,
        { provide: APP_FILTER, useExisting: ErrorFilter },
      ],
    };
  }
}

/** Shutdown order: close streams, finish requests, then leave the bus. */
@Injectable()
class GatewayLifecycle implements OnModuleDestroy, OnApplicationShutdown {
  constructor(
    private readonly streams: Streams,
    private readonly connections: Connections,
    private readonly config: GatewayConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async onModuleDestroy(): Promise<void> {
    const { shutdownTimeoutMs } = this.config;
    this.streams.stop();
    await this.connections.close(shutdownTimeoutMs);
    await this.platform.transport.drain(shutdownTimeoutMs);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.platform.transport.close();
  }
}
