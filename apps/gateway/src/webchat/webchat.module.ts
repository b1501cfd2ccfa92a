import { Module } from '@nestjs/common';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { WebchatController } from './webchat.controller';
import { WebchatOriginsService } from './webchat-origins.service';

@Module({
  imports: [RateLimitsModule],
  controllers: [WebchatController],
  providers: [WebchatOriginsService],
  exports: [WebchatOriginsService],
})
export class WebchatModule {}
