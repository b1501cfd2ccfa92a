import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InvocationsModule } from '../invocations/invocations.module';
import { IssuesModule } from '../issues/issues.module';
import { DeliverMessagesHandler } from './deliver-messages.handler';
import { MessageDeliveriesRepository } from './message-deliveries.repository';
import { MessageDeliveriesWorker } from './message-deliveries.worker';
import { MessageDeliveryEntity } from './message-delivery.entity';
import { MessageDeliveryMetricsService } from './message-delivery-metrics.service';

@Module({
  imports: [TypeOrmModule.forFeature([MessageDeliveryEntity]), InvocationsModule, IssuesModule],
  controllers: [DeliverMessagesHandler],
  providers: [MessageDeliveriesWorker, MessageDeliveriesRepository, MessageDeliveryMetricsService],
  exports: [MessageDeliveriesRepository],
})
export class MessageDeliveriesModule {}
