import { Controller } from '@nestjs/common';
import { Handles } from '@parley/bus/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { hub } from '@parley/contracts/hub/hub';
import type { CreateIntegration, IntegrationId, IntegrationNameAndVersion } from '@parley/contracts/hub/integrations';
import { IntegrationsService } from './integrations.service';

@Controller()
export class IntegrationsController {
  constructor(private readonly service: IntegrationsService) {}

  @Handles(hub.integrations.create)
  create(caller: WorkspaceCaller, input: CreateIntegration) {
    return this.service.create(caller, input);
  }

  @Handles(hub.integrations.get)
  get(caller: WorkspaceCaller, input: IntegrationId) {
    return this.service.get(caller, input);
  }

  @Handles(hub.integrations.getByName)
  getByName(caller: WorkspaceCaller, input: IntegrationNameAndVersion) {
    return this.service.getByName(caller, input);
  }
}
