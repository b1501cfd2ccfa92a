import { Module } from '@nestjs/common';
import { EraseBotHandler } from './erase-bot.handler';
import { ErasureController } from './erasure.controller';
import { ErasureService } from './erasure.service';

@Module({
  controllers: [EraseBotHandler, ErasureController],
  providers: [ErasureService],
})
export class ErasureModule {}
