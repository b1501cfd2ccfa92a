import { Module } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import { GatewayConfig } from '../config';
import { RateLimiter } from './rate.limiter';

@Module({
  providers: [
    RateLimiter,
    {
      provide: UnauthenticatedShare,
      // Besides incomplete bodies, which hold at most two thirds of the request slots.
      useFactory: ({ gatewayMaxInFlight, maxLoopDelayMs }: GatewayConfig, { metrics }: Platform) =>
        new UnauthenticatedShare({ max: Math.ceil(gatewayMaxInFlight / 4), maxLoopDelayMs, metrics }),
      inject: [GatewayConfig, platformToken],
    },
  ],
  exports: [RateLimiter, UnauthenticatedShare],
})
export class RateLimitsModule {}
