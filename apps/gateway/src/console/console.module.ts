import { Module } from '@nestjs/common';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { ConsoleController } from './console.controller';

@Module({
  imports: [RateLimitsModule],
  controllers: [ConsoleController],
})
export class ConsoleModule {}
