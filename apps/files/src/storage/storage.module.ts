import { Module } from '@nestjs/common';
import { MoveBotHandler } from './move-bot.handler';
import { StorageController } from './storage.controller';
import { StorageService } from './storage.service';

@Module({
  controllers: [MoveBotHandler, StorageController],
  providers: [StorageService],
})
export class StorageModule {}
