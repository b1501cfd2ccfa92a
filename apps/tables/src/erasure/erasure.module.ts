import { Module } from '@nestjs/common';
import { EraseBotHandler } from './erase-bot.handler';
import { ErasureController } from './erasure.controller';
import { ErasureRepository } from './erasure.repository';
import { ErasureService } from './erasure.service';

@Module({
  controllers: [EraseBotHandler, ErasureController],
  providers: [ErasureRepository, ErasureService],
  exports: [ErasureRepository],
})
export class ErasureModule {}
