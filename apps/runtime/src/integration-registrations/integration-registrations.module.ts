import { Module } from '@nestjs/common';
import { InvocationsModule } from '../invocations/invocations.module';
import { IssuesModule } from '../issues/issues.module';
import { IntegrationRegistrationsService } from './integration-registrations.service';
import { IntegrationRegistrationsWorker } from './integration-registrations.worker';
import { RegisterInstallationsHandler } from './register-installations.handler';

@Module({
  imports: [InvocationsModule, IssuesModule],
  controllers: [RegisterInstallationsHandler],
  providers: [IntegrationRegistrationsService, IntegrationRegistrationsWorker],
})
export class IntegrationRegistrationsModule {}
