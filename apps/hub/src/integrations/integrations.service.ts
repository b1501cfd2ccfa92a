import { Injectable } from '@nestjs/common';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import type {
  IntegrationId,
  IntegrationNameAndVersion,
  IntegrationReply,
  Integrations,
  ListIntegrations,
  ListOwnIntegrations,
} from '@parley/contracts/hub/integrations';
import type {
  PublicIntegrationId,
  PublicIntegrationReply,
  PublicIntegrations,
} from '@parley/contracts/hub/public-integrations';
import type {
  FindIntegrationOwner,
  InstallableIntegrations,
  IntegrationOwner,
  ResolveIntegrations,
} from '@parley/contracts/hub/resolution';
import { Database } from '@parley/persistence/database';
import { ViewsService } from '../counters/views.service';
import { InstallationsService } from '../installations/installations.service';
import {
  type PublishedRow,
  toEntry,
  toInstallable,
  toIntegration,
  toPublicEntry,
  toPublicIntegration,
} from './integration.entity';
import { IntegrationListRepository } from './integration-list.repository';
import { IntegrationsRepository } from './integrations.repository';

/** Reads integrations: those of a workspace, published or not, which all its members see, and the public ones. */
@Injectable()
export class IntegrationsService {
  constructor(
    private readonly database: Database,
    private readonly integrations: IntegrationsRepository,
    private readonly lists: IntegrationListRepository,
    private readonly installations: InstallationsService,
    private readonly views: ViewsService,
  ) {}

  async list(caller: WorkspaceCaller, query: ListOwnIntegrations): Promise<Integrations> {
    await this.requireReader(caller, query);
    const { rows, nextToken } = await this.lists.listOwn(caller.workspace.id, query);
    return { integrations: rows.map((row) => toEntry(row, query.search)), meta: { nextToken } };
  }

  async listPublic(caller: AccountCaller, query: ListIntegrations): Promise<PublicIntegrations> {
    await this.requireReader(caller, query);
    const { rows, nextToken } = await this.lists.listPublic(query);
    return { integrations: rows.map((row) => toPublicEntry(row, query.search)), meta: { nextToken } };
  }

  async get({ workspace, integration }: WorkspaceCaller, { id }: IntegrationId): Promise<IntegrationReply> {
    const row = await this.integrations.findIntegrationById(this.database, workspace.id, id);
    // An integration key may read its own integration only, not others of the workspace.
    if (!row || (integration && integration.id !== id)) throw notFound('integration', id);
    return { integration: toIntegration(row) };
  }

  async getByName(
    { workspace }: WorkspaceCaller,
    { name, version }: IntegrationNameAndVersion,
  ): Promise<IntegrationReply> {
    const row = await this.integrations.findOwnByName(workspace.id, name, version);
    if (!row) throw notFound('integration', `${name} ${version}`);
    return { integration: toIntegration(row) };
  }

  async getPublicById({ id }: PublicIntegrationId): Promise<PublicIntegrationReply> {
    return this.showPublic(await this.integrations.findPublishedById(id), id);
  }

  async getPublic({ name, version }: IntegrationNameAndVersion): Promise<PublicIntegrationReply> {
    const row = await this.integrations.findPublishedByName(name, version);
    if (!row) throw await this.missing(notFound('integration', `${name} ${version}`), name);
    return this.showPublic(row, name);
  }

  async resolve({ workspaceId, ids, installedIds }: ResolveIntegrations): Promise<InstallableIntegrations> {
    const rows = await this.integrations.findInstallable(workspaceId, ids, installedIds);
    return { integrations: rows.map(toInstallable) };
  }

  async findOwner({ id }: FindIntegrationOwner): Promise<IntegrationOwner> {
    return { workspaceId: (await this.integrations.findOwner(id)) ?? null };
  }

  /** The error, with the name of the only public integration that has this name after a handle. */
  async missing({ type, message }: ApiError, name: string): Promise<ApiError> {
    const full = await this.integrations.findNameWithHandle(name);
    return new ApiError(type, full === undefined ? message : `${message} "${full}" is public: use that name.`);
  }

  private showPublic(row: PublishedRow | undefined, idOrName: string): PublicIntegrationReply {
    if (!row) throw notFound('integration', idOrName);
    this.views.count(row.id);
    return { integration: toPublicIntegration(row) };
  }

  private async requireReader(caller: Caller, { installedByBotId }: ListIntegrations): Promise<void> {
    if (installedByBotId !== undefined) await this.installations.requireBotReader(caller, installedByBotId);
  }
}
