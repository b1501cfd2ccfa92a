import { Module } from '@nestjs/common';
import { EraseRecordingsHandler } from './erase-recordings.handler';
import { WebhookRecorderService } from './webhook-recorder.service';
import { WebhookRecordingsController } from './webhook-recordings.controller';
import { WebhookRecordingsRepository } from './webhook-recordings.repository';
import { WebhookRecordingsService } from './webhook-recordings.service';

@Module({
  controllers: [WebhookRecordingsController, EraseRecordingsHandler],
  providers: [WebhookRecordingsService, WebhookRecorderService, WebhookRecordingsRepository],
  exports: [WebhookRecordingsService, WebhookRecorderService, WebhookRecordingsRepository],
})
export class WebhookRecordingsModule {}
