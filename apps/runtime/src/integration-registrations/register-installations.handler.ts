import { Controller } from '@nestjs/common';
import { registerInstallations, type RegistrationsPending } from '@parley/contracts/admin/registrations';
import { Consumes } from '@parley/transport/handles';
import { IntegrationRegistrationsService } from './integration-registrations.service';

@Controller()
export class RegisterInstallationsHandler {
  constructor(private readonly service: IntegrationRegistrationsService) {}

  /** Idempotent: a finished registration is not pending any more. */
  @Consumes(registerInstallations)
  async handle({ botId }: RegistrationsPending): Promise<void> {
    await this.service.start(botId);
  }
}
