import { Module } from '@nestjs/common';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { IntegrationCodeService } from './integration-code.service';
import { IntegrationTargetsController } from './integration-targets.controller';
import { IntegrationTargetsRepository } from './integration-targets.repository';
import { IntegrationTargetsService } from './integration-targets.service';

@Module({
  controllers: [IntegrationTargetsController],
  providers: [
    IntegrationCodeService,
    IntegrationTargetsService,
    IntegrationTargetsRepository,
    {
      provide: CodeTickets,
      useFactory: (keys: SecretKeys) => new CodeTickets(keys, 'integration-code-tickets'),
      inject: [SecretKeys],
    },
  ],
})
export class IntegrationTargetsModule {}
