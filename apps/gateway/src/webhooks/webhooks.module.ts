import { Module } from '@nestjs/common';
import { BodiesModule } from '../bodies/bodies.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { WebhookBodyService } from './webhook-body.service';
import { WebhooksController } from './webhooks.controller';

@Module({
  imports: [BodiesModule, RateLimitsModule],
  controllers: [WebhooksController],
  providers: [WebhookBodyService],
})
export class WebhooksModule {}
