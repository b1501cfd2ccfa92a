import { Module } from '@nestjs/common';
import { CodeTickets } from '@parley/secrets/code-tickets';
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
    CodeTickets.provider('integration-code-tickets'),
  ],
})
export class IntegrationTargetsModule {}
