import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import type { FindIntegrationOwner, ResolveIntegrations } from '@parley/contracts/hub/resolution';
import { ResolutionService } from './resolution.service';

@Controller()
export class ResolutionController {
  constructor(private readonly service: ResolutionService) {}

  @Handles(hub.resolution.integrations)
  integrations(_caller: Caller, input: ResolveIntegrations) {
    return this.service.integrations(input);
  }

  @Handles(hub.resolution.owner)
  owner(_caller: Caller, input: FindIntegrationOwner) {
    return this.service.owner(input);
  }
}
