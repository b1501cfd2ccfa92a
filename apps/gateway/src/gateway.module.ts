import { type DynamicModule, Module } from '@nestjs/common';
import { allOperations } from '@parley/contracts/contracts';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { TransportModule } from '@parley/service/transport.module';
import { GatewayConfig } from './config';
import { ConsoleModule } from './console/console.module';
import { DocsModule } from './docs/docs.module';
import { ForwardingModule } from './forwarding/forwarding.module';
import { LogTailsModule } from './log-tails/log-tails.module';
import { StreamsModule } from './streams/streams.module';
import { TunnelModule } from './tunnel/tunnel.module';
import { WebchatModule } from './webchat/webchat.module';
import { WebhooksModule } from './webhooks/webhooks.module';

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
        ConfigModule.register(GatewayConfig, config),
        ForwardingModule.register(allOperations),
        ConsoleModule,
        DocsModule,
        StreamsModule,
        LogTailsModule,
        TunnelModule,
        WebchatModule,
        WebhooksModule,
      ],
    };
  }
}
