import { Module } from '@nestjs/common';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { RuntimeKeysController } from './runtime-keys.controller';
import { RuntimeKeysRepository } from './runtime-keys.repository';
import { RuntimeKeysService } from './runtime-keys.service';

@Module({
  controllers: [RuntimeKeysController],
  providers: [
    RuntimeKeysService,
    RuntimeKeysRepository,
    {
      provide: CodeTickets,
      useFactory: (keys: SecretKeys) => new CodeTickets(keys, 'integration-code-tickets'),
      inject: [SecretKeys],
    },
  ],
})
export class RuntimeKeysModule {}
