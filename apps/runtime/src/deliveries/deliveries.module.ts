import { Module } from '@nestjs/common';
import { BotTargetsModule } from '../bot-targets/bot-targets.module';
import { InvocationsModule } from '../invocations/invocations.module';
import { IssuesModule } from '../issues/issues.module';
import { BotRateLimiter } from './bot-rate.limiter';
import { CallPlacesLimiter } from './call-places.limiter';
import { DeliverEventsHandler } from './deliver-events.handler';
import { DeliveriesController } from './deliveries.controller';
import { DeliveriesRepository } from './deliveries.repository';
import { DeliveriesService } from './deliveries.service';
import { DeliveryIssuesService } from './delivery-issues.service';
import { DeliveriesWorker } from './deliveries.worker';
import { DeliveryMetricsService } from './delivery-metrics.service';
import { PendingEventsClient } from './pending-events.client';
import { SettlementsService } from './settlements.service';
import { WaitingDeliveriesWorker } from './waiting-deliveries.worker';
import { WakeDeliveriesHandler } from './wake-deliveries.handler';

@Module({
  imports: [BotTargetsModule, InvocationsModule, IssuesModule],
  controllers: [DeliveriesController, DeliverEventsHandler, WakeDeliveriesHandler],
  providers: [
    DeliveriesService,
    DeliveriesRepository,
    DeliveriesWorker,
    PendingEventsClient,
    SettlementsService,
    WaitingDeliveriesWorker,
    BotRateLimiter,
    CallPlacesLimiter,
    DeliveryIssuesService,
    DeliveryMetricsService,
  ],
  exports: [DeliveriesRepository],
})
export class DeliveriesModule {}
