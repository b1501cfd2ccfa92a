import { Module } from '@nestjs/common';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { ChatCallersCache } from './chat-callers.cache';
import { IdentityService } from './identity.service';

/** Exports the dependencies of AuthGuard, which ForwardingModule registers after LoadSheddingGuard. */
@Module({
  imports: [RateLimitsModule],
  providers: [ChatCallersCache, IdentityService],
  exports: [ChatCallersCache, IdentityService, RateLimitsModule],
})
export class AuthModule {}
