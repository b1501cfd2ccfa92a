import { Module } from '@nestjs/common';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { BotCodeController } from './bot-code.controller';
import { BotCodeRepository } from './bot-code.repository';
import { BotCodeService } from './bot-code.service';

@Module({
  controllers: [BotCodeController],
  providers: [
    BotCodeService,
    BotCodeRepository,
    {
      provide: CodeTickets,
      useFactory: (keys: SecretKeys) => new CodeTickets(keys, 'code-tickets'),
      inject: [SecretKeys],
    },
  ],
  exports: [CodeTickets],
})
export class BotCodeModule {}
