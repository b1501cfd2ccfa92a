import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller } from '@parley/contracts/access';
import { hub } from '@parley/contracts/hub/hub';
import type { IntegrationNameAndVersion, ListIntegrations } from '@parley/contracts/hub/integrations';
import type { PublicIntegrationId } from '@parley/contracts/hub/public-integrations';
import { PublicIntegrationsService } from './public-integrations.service';

@Controller()
export class PublicIntegrationsController {
  constructor(private readonly service: PublicIntegrationsService) {}

  @Handles(hub.publicIntegrations.list)
  list(caller: AccountCaller, input: ListIntegrations) {
    return this.service.list(caller, input);
  }

  @Handles(hub.publicIntegrations.getById)
  getById(_caller: AccountCaller, input: PublicIntegrationId) {
    return this.service.getById(input);
  }

  @Handles(hub.publicIntegrations.get)
  get(_caller: AccountCaller, input: IntegrationNameAndVersion) {
    return this.service.get(input);
  }
}
