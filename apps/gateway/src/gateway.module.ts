import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { HealthController, Readiness, type ReadinessCheck, readinessChecks } from '@parley/service/health.controller';
import type { Platform } from '@parley/service/platform';
import { platformProviders } from '@parley/service/service.module';
import { CallerGuard } from './caller.guard';
import type { GatewayConfig } from './config';
import { DocsController } from './docs.controller';
import { ErrorFilter } from '@parley/service/error.filter';
import { ForwardController } from './forward.controller';

/** The only way in: proves who is calling, checks what they send, and forwards it to the service that owns it. */
@Module({})
export class GatewayModule {
  static register(_config: GatewayConfig, platform: Platform): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [HealthController, DocsController, ForwardController],
      providers: [
        ...platformProviders(platform),
        {
          provide: readinessChecks,
          useValue: [{ name: 'bus', check: () => platform.transport.ready() }] satisfies ReadinessCheck[],
        },
        Readiness,
        CallerGuard,
        ErrorFilter,
        { provide: APP_FILTER, useExisting: ErrorFilter },
      ],
    };
  }
}
