import { Module } from '@nestjs/common';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { StreamsController } from './streams.controller';
import { StreamsLimiter } from './streams.limiter';
import { StreamsService } from './streams.service';

@Module({
  imports: [RateLimitsModule],
  controllers: [StreamsController],
  providers: [StreamsLimiter, StreamsService],
})
export class StreamsModule {}
