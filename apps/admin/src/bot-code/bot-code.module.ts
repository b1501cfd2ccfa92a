import { Module } from '@nestjs/common';
import { BotCodeController } from './bot-code.controller';
import { BotCodeRepository } from './bot-code.repository';
import { BotCodeService } from './bot-code.service';
import { CodeTickets } from './code-tickets';

@Module({
  controllers: [BotCodeController],
  providers: [BotCodeService, BotCodeRepository, CodeTickets],
  exports: [CodeTickets],
})
export class BotCodeModule {}
