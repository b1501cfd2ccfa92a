import { Injectable } from '@nestjs/common';
import { builtInWorkspace } from '@parley/contracts/hub/built-in';
import type {
  FindIntegrationOwner,
  InstallableIntegrations,
  IntegrationOwner,
  ResolveIntegrations,
} from '@parley/contracts/hub/resolution';
import { toInstallable } from './integration.entity';
import { IntegrationsRepository } from './integrations.repository';

/** What other services need to know of integrations to install them. */
@Injectable()
export class ResolutionService {
  constructor(private readonly repository: IntegrationsRepository) {}

  async integrations({ workspaceId, ids }: ResolveIntegrations): Promise<InstallableIntegrations> {
    const rows = await this.repository.findInstallable(workspaceId, ids);
    return { integrations: rows.map(toInstallable) };
  }

  async owner({ id }: FindIntegrationOwner): Promise<IntegrationOwner> {
    const owner = await this.repository.findOwner(id);
    return { workspaceId: owner === undefined || owner === builtInWorkspace.id ? null : owner };
  }
}
