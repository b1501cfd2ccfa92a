import { Module } from '@nestjs/common';
import { InvocationsModule } from '../invocations/invocations.module';
import { IssuesModule } from '../issues/issues.module';
import { WebhooksController } from './webhooks.controller';
import { WebhooksService } from './webhooks.service';

@Module({
  imports: [InvocationsModule, IssuesModule],
  controllers: [WebhooksController],
  providers: [WebhooksService],
})
export class WebhooksModule {}
