import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import type { RunRegistrations } from '@parley/contracts/runtime/registrations';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Handles } from '@parley/transport/handles';
import { IntegrationRegistrationsService } from './integration-registrations.service';

@Controller()
export class IntegrationRegistrationsController {
  constructor(private readonly service: IntegrationRegistrationsService) {}

  @Handles(runtime.registrationRuns.run)
  run(_caller: Caller, input: RunRegistrations) {
    return this.service.run(input);
  }
}
