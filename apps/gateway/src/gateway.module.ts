import { type DynamicModule, Module } from '@nestjs/common';
import { allOperations, missingRoutes } from '@parley/contracts/contracts';
import type { Platform } from '@parley/service/platform';
import { TransportModule } from '@parley/service/transport.module';
import type { GatewayConfig } from './config';
import { DocsController } from './docs.controller';
import { ForwardingModule } from './forwarding/forwarding.module';
import { ListenController } from './listen.controller';
import { Streams } from './listening/streams';
import { RateLimitsModule } from './rate-limits.module';

/**
 * API gateway, the only public entry point: authenticates callers, validates input and forwards it to the owning
 * service.
 */
@Module({})
export class GatewayModule {
  static register(config: GatewayConfig, platform: Platform): DynamicModule {
    return {
      module: GatewayModule,
      imports: [
        TransportModule.register({ name: 'gateway' }, config, platform),
        RateLimitsModule.register(config),
        ForwardingModule.register(allOperations, missingRoutes),
      ],
      controllers: [DocsController, ListenController],
      providers: [Streams],
    };
  }
}
