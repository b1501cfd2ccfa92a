import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CallsModule } from './calls.module';
import { BotRateLimiter } from './deliveries/bot-rate.limiter';
import { CallSlotsLimiter } from './deliveries/call-slots.limiter';
import { DeliverEventsHandler } from './deliveries/deliver-events.handler';
import { DeliveriesController } from './deliveries/deliveries.controller';
import { DeliveriesRepository } from './deliveries/deliveries.repository';
import { DeliveriesService } from './deliveries/deliveries.service';
import { DeliveriesWorker } from './deliveries/deliveries.worker';
import { DeliveryIssuesService } from './deliveries/delivery-issues.service';
import { DeliveryMetricsService } from './deliveries/delivery-metrics.service';
import { PendingEventsClient } from './deliveries/pending-events.client';
import { SettlementsService } from './deliveries/settlements.service';
import { WaitingDeliveriesWorker } from './deliveries/waiting-deliveries.worker';
import { WakeDeliveriesHandler } from './deliveries/wake-deliveries.handler';
import { DeliverMessagesHandler } from './message-deliveries/deliver-messages.handler';
import { MessageDeliveriesRepository } from './message-deliveries/message-deliveries.repository';
import { MessageDeliveriesWorker } from './message-deliveries/message-deliveries.worker';
import { MessageDeliveryEntity } from './message-deliveries/message-delivery.entity';
import { RecordsModule } from './records/records.module';
import { EraseRecordingsHandler } from './webhooks/erase-recordings.handler';
import { WebhookRecorderService } from './webhooks/webhook-recorder.service';
import { WebhookRecordingsController } from './webhooks/webhook-recordings.controller';
import { WebhookRecordingsRepository } from './webhooks/webhook-recordings.repository';
import { WebhookRecordingsService } from './webhooks/webhook-recordings.service';
import { WebhookReplaysService } from './webhooks/webhook-replays.service';
import { WebhooksController } from './webhooks/webhooks.controller';
import { WebhooksService } from './webhooks/webhooks.service';

/** Deliveries of events to bots, and of messages and webhook requests to integrations. */
@Module({
  imports: [CallsModule, RecordsModule, TypeOrmModule.forFeature([MessageDeliveryEntity])],
  controllers: [
    DeliverEventsHandler,
    DeliverMessagesHandler,
    DeliveriesController,
    EraseRecordingsHandler,
    WakeDeliveriesHandler,
    WebhookRecordingsController,
    WebhooksController,
  ],
  providers: [
    BotRateLimiter,
    CallSlotsLimiter,
    DeliveriesService,
    DeliveriesRepository,
    DeliveriesWorker,
    DeliveryIssuesService,
    DeliveryMetricsService,
    MessageDeliveriesRepository,
    MessageDeliveriesWorker,
    PendingEventsClient,
    SettlementsService,
    WaitingDeliveriesWorker,
    WebhookRecorderService,
    WebhookRecordingsService,
    WebhookRecordingsRepository,
    WebhookReplaysService,
    WebhooksService,
  ],
  exports: [DeliveriesRepository, MessageDeliveriesRepository, WebhookRecordingsRepository],
})
export class DeliveriesModule {}
