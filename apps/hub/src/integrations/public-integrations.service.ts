import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '@parley/contracts/access';
import { notFound } from '@parley/contracts/errors';
import type { IntegrationNameAndVersion, ListIntegrations } from '@parley/contracts/hub/integrations';
import type {
  PublicIntegrationId,
  PublicIntegrationReply,
  PublicIntegrations,
} from '@parley/contracts/hub/public-integrations';
import { ViewsService } from '../counters/views.service';
import { InstallationsService } from '../installations/installations.service';
import { type PublishedRow, toPublicEntry, toPublicIntegration } from './integration.entity';
import { IntegrationListRepository } from './integration-list.repository';
import { IntegrationsRepository } from './integrations.repository';

@Injectable()
export class PublicIntegrationsService {
  constructor(
    private readonly integrations: IntegrationsRepository,
    private readonly lists: IntegrationListRepository,
    private readonly installations: InstallationsService,
    private readonly views: ViewsService,
  ) {}

  async list(caller: AccountCaller, query: ListIntegrations): Promise<PublicIntegrations> {
    const { installedByBotId, search } = query;
    if (installedByBotId !== undefined) await this.installations.requireBotReader(caller, installedByBotId);
    const { rows, nextToken } = await this.lists.listPublic(query);
    return { integrations: rows.map((row) => toPublicEntry(row, search)), meta: { nextToken } };
  }

  async getById({ id }: PublicIntegrationId): Promise<PublicIntegrationReply> {
    return this.show(await this.integrations.findPublishedById(id), id);
  }

  async get({ name, version }: IntegrationNameAndVersion): Promise<PublicIntegrationReply> {
    return this.show(await this.integrations.findPublishedByName(name, version), `${name} ${version}`);
  }

  private show(row: PublishedRow | undefined, wanted: string): PublicIntegrationReply {
    if (!row) throw notFound('integration', wanted);
    this.views.count(row.id);
    return { integration: toPublicIntegration(row) };
  }
}
