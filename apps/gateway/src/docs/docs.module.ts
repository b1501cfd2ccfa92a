import { Module } from '@nestjs/common';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { DocsController } from './docs.controller';

@Module({
  imports: [RateLimitsModule],
  controllers: [DocsController],
})
export class DocsModule {}
