import { Module } from '@nestjs/common';
import { InvocationsModule } from '../invocations/invocations.module';
import { IssuesModule } from '../issues/issues.module';
import { WebhookRecordingsModule } from '../webhook-recordings/webhook-recordings.module';
import { WebhookReplaysController } from './webhook-replays.controller';
import { WebhookReplaysService } from './webhook-replays.service';
import { WebhooksController } from './webhooks.controller';
import { WebhooksService } from './webhooks.service';

@Module({
  imports: [InvocationsModule, IssuesModule, WebhookRecordingsModule],
  controllers: [WebhooksController, WebhookReplaysController],
  providers: [WebhooksService, WebhookReplaysService],
})
export class WebhooksModule {}
