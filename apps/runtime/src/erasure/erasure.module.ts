import { Module } from '@nestjs/common';
import { CallsModule } from '../calls.module';
import { DeliveriesModule } from '../deliveries.module';
import { RecordsModule } from '../records/records.module';
import { EraseBotHandler } from './erase-bot.handler';
import { ErasureController } from './erasure.controller';
import { ErasureService } from './erasure.service';

@Module({
  imports: [CallsModule, DeliveriesModule, RecordsModule],
  controllers: [EraseBotHandler, ErasureController],
  providers: [ErasureService],
})
export class ErasureModule {}
