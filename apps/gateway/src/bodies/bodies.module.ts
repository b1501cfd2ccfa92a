import { Module } from '@nestjs/common';
import { GatewayConfig } from '../config';
import { BodiesService } from './bodies.service';
import { BodyMemoryLimiter } from './body-memory.limiter';
import { LargeBodiesService } from './large-bodies.service';

@Module({
  providers: [
    {
      provide: BodyMemoryLimiter,
      // Incomplete bodies hold at most two thirds of the request slots: one of unauthenticated senders, one of tenants.
      useFactory: ({ gatewayMaxInFlight: max }: GatewayConfig) => new BodyMemoryLimiter(Math.ceil(max / 3)),
      inject: [GatewayConfig],
    },
    BodiesService,
    LargeBodiesService,
  ],
  exports: [BodiesService, LargeBodiesService, BodyMemoryLimiter],
})
export class BodiesModule {}
