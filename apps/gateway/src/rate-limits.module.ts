import { type DynamicModule, Module } from '@nestjs/common';
import { GatewayConfig } from './config';
import { RateLimits } from './rate-limits';

/** Configuration and rate limits, for all modules of the gateway. */
@Module({})
export class RateLimitsModule {
  static register(config: GatewayConfig): DynamicModule {
    return {
      module: RateLimitsModule,
      global: true,
      providers: [{ provide: GatewayConfig, useValue: config }, RateLimits],
      exports: [GatewayConfig, RateLimits],
    };
  }
}
