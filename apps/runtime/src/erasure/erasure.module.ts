import { Module } from '@nestjs/common';
import { ActionsModule } from '../actions/actions.module';
import { CallCountsModule } from '../call-counts/call-counts.module';
import { DeliveriesModule } from '../deliveries/deliveries.module';
import { IssuesModule } from '../issues/issues.module';
import { MessageDeliveriesModule } from '../message-deliveries/message-deliveries.module';
import { LogsModule } from '../logs/logs.module';
import { WebhookRecordingsModule } from '../webhook-recordings/webhook-recordings.module';
import { EraseBotHandler } from './erase-bot.handler';
import { ErasureController } from './erasure.controller';
import { ErasureService } from './erasure.service';

@Module({
  imports: [
    MessageDeliveriesModule,
    ActionsModule,
    CallCountsModule,
    DeliveriesModule,
    IssuesModule,
    LogsModule,
    WebhookRecordingsModule,
  ],
  controllers: [EraseBotHandler, ErasureController],
  providers: [ErasureService],
})
export class ErasureModule {}
