import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { hub } from '@parley/contracts/hub/hub';
import type {
  CreateIntegration,
  IntegrationId,
  IntegrationNameAndVersion,
  IntegrationToVerify,
  ListOwnIntegrations,
  UpdateIntegration,
} from '@parley/contracts/hub/integrations';
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

  @Handles(hub.integrations.validateCreation)
  validateCreation(caller: WorkspaceCaller, input: CreateIntegration) {
    return this.service.validateCreation(caller, input);
  }

  @Handles(hub.integrations.update)
  update(caller: WorkspaceCaller, input: UpdateIntegration) {
    return this.service.update(caller, input);
  }

  @Handles(hub.integrations.validateUpdate)
  validateUpdate(caller: WorkspaceCaller, input: UpdateIntegration) {
    return this.service.validateUpdate(caller, input);
  }

  @Handles(hub.integrations.delete)
  delete(caller: WorkspaceCaller, input: IntegrationId) {
    return this.service.delete(caller, input);
  }

  @Handles(hub.integrations.list)
  list(caller: WorkspaceCaller, input: ListOwnIntegrations) {
    return this.service.list(caller, input);
  }

  @Handles(hub.integrations.requestVerification)
  requestVerification(caller: WorkspaceCaller, input: IntegrationToVerify) {
    return this.service.requestVerification(caller, input);
  }

  @Handles(hub.integrations.rotateSigningSecrets)
  rotateSigningSecrets(caller: WorkspaceCaller, input: IntegrationId) {
    return this.service.rotateSigningSecrets(caller, input);
  }
}
