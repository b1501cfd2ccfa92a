import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import type {
  CreateIntegration,
  IntegrationId,
  IntegrationNameAndVersion,
  IntegrationToVerify,
  ListIntegrations,
  ListOwnIntegrations,
  UpdateIntegration,
} from '@parley/contracts/hub/integrations';
import type { PublicIntegrationId } from '@parley/contracts/hub/public-integrations';
import type { FindIntegrationOwner, ResolveIntegrations } from '@parley/contracts/hub/resolution';
import { IntegrationPublishingService } from './integration-publishing.service';
import { IntegrationsService } from './integrations.service';

@Controller()
export class IntegrationsController {
  constructor(
    private readonly service: IntegrationsService,
    private readonly publishing: IntegrationPublishingService,
  ) {}

  @Handles(hub.integrations.create)
  create(caller: WorkspaceCaller, input: CreateIntegration) {
    return this.publishing.create(caller, input);
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
    return this.publishing.validateCreation(caller, input);
  }

  @Handles(hub.integrations.update)
  update(caller: WorkspaceCaller, input: UpdateIntegration) {
    return this.publishing.update(caller, input);
  }

  @Handles(hub.integrations.validateUpdate)
  validateUpdate(caller: WorkspaceCaller, input: UpdateIntegration) {
    return this.publishing.validateUpdate(caller, input);
  }

  @Handles(hub.integrations.delete)
  delete(caller: WorkspaceCaller, input: IntegrationId) {
    return this.publishing.delete(caller, input);
  }

  @Handles(hub.integrations.list)
  list(caller: WorkspaceCaller, input: ListOwnIntegrations) {
    return this.service.list(caller, input);
  }

  @Handles(hub.integrations.requestVerification)
  requestVerification(caller: WorkspaceCaller, input: IntegrationToVerify) {
    return this.publishing.requestVerification(caller, input);
  }

  @Handles(hub.integrations.rotateSigningSecrets)
  rotateSigningSecrets(caller: WorkspaceCaller, input: IntegrationId) {
    return this.publishing.rotateSigningSecrets(caller, input);
  }

  @Handles(hub.publicIntegrations.list)
  listPublic(caller: AccountCaller, input: ListIntegrations) {
    return this.service.listPublic(caller, input);
  }

  @Handles(hub.publicIntegrations.getById)
  getPublicById(_caller: AccountCaller, input: PublicIntegrationId) {
    return this.service.getPublicById(input);
  }

  @Handles(hub.publicIntegrations.get)
  getPublic(_caller: AccountCaller, input: IntegrationNameAndVersion) {
    return this.service.getPublic(input);
  }

  @Handles(hub.resolution.integrations)
  resolve(_caller: Caller, input: ResolveIntegrations) {
    return this.service.resolve(input);
  }

  @Handles(hub.resolution.owner)
  findOwner(_caller: Caller, input: FindIntegrationOwner) {
    return this.service.findOwner(input);
  }
}
