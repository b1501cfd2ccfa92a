import { Module } from '@nestjs/common';
import { IntegrationsModule } from '../integrations/integrations.module';
import { VrlScriptsModule } from '../scripts/vrl-scripts.module';
import { SharedWebhooksController } from './shared-webhooks.controller';
import { SharedWebhooksRepository } from './shared-webhooks.repository';
import { SharedWebhooksService } from './shared-webhooks.service';

@Module({
  imports: [IntegrationsModule, VrlScriptsModule],
  controllers: [SharedWebhooksController],
  providers: [SharedWebhooksService, SharedWebhooksRepository],
})
export class SharedWebhooksModule {}
