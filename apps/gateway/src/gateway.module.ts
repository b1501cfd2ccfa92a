import { type DynamicModule, Module } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { TransportModule } from '@parley/service/transport.module';
import { LargeBodies } from './bodies/large-bodies';
import { CallerGuard } from './caller.guard';
import { ChatCallers } from './chat-callers';
import { GatewayConfig } from './config';
import { DocsController } from './docs.controller';
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
      imports: [TransportModule.register({ name: 'gateway' }, config, platform)],
      controllers: [DocsController, ForwardController, ListenController],
      providers: [
        { provide: GatewayConfig, useValue: config },
        CallerGuard,
        ChatCallers,
        LargeBodies,
        RateLimits,
        Streams,
      ],
    };
  }
}
