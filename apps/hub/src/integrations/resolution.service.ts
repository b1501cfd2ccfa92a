import { Injectable } from '@nestjs/common';
import type { InstallableIntegrations, ResolveIntegrations } from '@parley/contracts/hub/resolution';
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
}
