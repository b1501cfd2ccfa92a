import { Injectable } from '@nestjs/common';
import type {
  FindIntegrationOwner,
  InstallableIntegrations,
  IntegrationOwner,
  ResolveIntegrations,
} from '@parley/contracts/hub/resolution';
import { toInstallable } from './integration.entity';
import { IntegrationsRepository } from './integrations.repository';

@Injectable()
export class ResolutionService {
  constructor(private readonly repository: IntegrationsRepository) {}

  async integrations({ workspaceId, ids, installedIds }: ResolveIntegrations): Promise<InstallableIntegrations> {
    const rows = await this.repository.findInstallable(workspaceId, ids, installedIds);
    return { integrations: rows.map(toInstallable) };
  }

  async owner({ id }: FindIntegrationOwner): Promise<IntegrationOwner> {
    return { workspaceId: (await this.repository.findOwner(id)) ?? null };
  }
}
