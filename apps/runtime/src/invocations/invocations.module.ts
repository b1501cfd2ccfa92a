import { Module } from '@nestjs/common';
import { EgressClient } from '@parley/egress/egress.client';
import { isLocalOnly } from '@parley/config/loopback';
import { CallCountsModule } from '../call-counts/call-counts.module';
import { RuntimeConfig } from '../config';
import { BotClient } from './bot.client';
import { CalleeClient } from './callee.client';
import { CodePreparationClient } from './code-preparation.client';
import { IntegrationClient } from './integration.client';
import { IntegrationTargetsCache } from './integration-targets.cache';
import { RunnerClient } from './runner.client';
import { RunnersService } from './runners.service';
import { UnloadableCodeLimiter } from './unloadable-code.limiter';
import { UrlClient } from './url.client';
import { TunnelClient } from './tunnel.client';

@Module({
  imports: [CallCountsModule],
  providers: [
    {
      provide: EgressClient,
      useFactory: (config: RuntimeConfig) => new EgressClient({ allowPrivate: allowsPrivate(config) }),
      inject: [RuntimeConfig],
    },
    UrlClient,
    TunnelClient,
    RunnersService,
    CodePreparationClient,
    RunnerClient,
    UnloadableCodeLimiter,
    CalleeClient,
    BotClient,
    IntegrationClient,
    IntegrationTargetsCache,
  ],
  exports: [BotClient, IntegrationClient, IntegrationTargetsCache, RunnersService],
})
export class InvocationsModule {}

/** Others who reach the platform must not reach the private network of its host through it. */
export function allowsPrivate(config: Pick<RuntimeConfig, 'egressAllowPrivate' | 'host' | 'trustedProxies'>): boolean {
  const { egressAllowPrivate } = config;
  return egressAllowPrivate === undefined ? isLocalOnly(config) : egressAllowPrivate === 'true';
}
