import { Module } from '@nestjs/common';
import { SearchModule } from '../search/search.module';
import { EraseBotHandler } from './erase-bot.handler';
import { ErasureController } from './erasure.controller';
import { ErasureRepository } from './erasure.repository';
import { ErasureService } from './erasure.service';

@Module({
  imports: [SearchModule],
  controllers: [EraseBotHandler, ErasureController],
  providers: [ErasureRepository, ErasureService],
})
export class ErasureModule {}
