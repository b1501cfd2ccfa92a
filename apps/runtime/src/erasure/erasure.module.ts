import { Module } from '@nestjs/common';
import { CallCountsModule } from '../call-counts/call-counts.module';
import { DeliveriesModule } from '../deliveries/deliveries.module';
import { IssuesModule } from '../issues/issues.module';
import { EraseBotHandler } from './erase-bot.handler';
import { ErasureController } from './erasure.controller';
import { ErasureService } from './erasure.service';

@Module({
  imports: [CallCountsModule, DeliveriesModule, IssuesModule],
  controllers: [EraseBotHandler, ErasureController],
  providers: [ErasureService],
})
export class ErasureModule {}
