import { Module } from '@nestjs/common';
import { BotCodeController } from './bot-code.controller';
import { BotCodeRepository } from './bot-code.repository';
import { BotCodeService } from './bot-code.service';
import { CodeTicketsService } from './code-tickets.service';

@Module({
  controllers: [BotCodeController],
  providers: [BotCodeService, BotCodeRepository, CodeTicketsService],
  exports: [CodeTicketsService],
})
export class BotCodeModule {}
