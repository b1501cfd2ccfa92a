import { Module } from '@nestjs/common';
import { ChatInstallationsCache } from './chat-installations.cache';
import { ChatPrincipalsController } from './chat-principals.controller';
import { ChatPrincipalsService } from './chat-principals.service';
import { UserKeysService } from './user-keys.service';
import { ViewerLookupsRepository } from './viewer-lookups.repository';

@Module({
  controllers: [ChatPrincipalsController],
  providers: [ChatPrincipalsService, ChatInstallationsCache, UserKeysService, ViewerLookupsRepository],
  exports: [ChatPrincipalsService, ChatInstallationsCache, UserKeysService, ViewerLookupsRepository],
})
export class ChatPrincipalsModule {}
