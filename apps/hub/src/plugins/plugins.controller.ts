import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import type {
  CreatePlugin,
  DereferencePlugin,
  PluginId,
  PluginPlatform,
  UpdatePlugin,
} from '@parley/contracts/hub/plugins';
import type { ListPublications, PublicationName } from '@parley/contracts/hub/publication';
import type { ResolvePlugins } from '@parley/contracts/hub/resolution';
import { PluginPublishingService } from './plugin-publishing.service';
import { PluginsService } from './plugins.service';

@Controller()
export class PluginsController {
  constructor(
    private readonly service: PluginsService,
    private readonly publishing: PluginPublishingService,
  ) {}

  @Handles(hub.plugins.create)
  create(caller: WorkspaceCaller, input: CreatePlugin) {
    return this.publishing.create(caller, input);
  }

  @Handles(hub.plugins.update)
  update(caller: WorkspaceCaller, input: UpdatePlugin) {
    return this.publishing.update(caller, input);
  }

  @Handles(hub.plugins.delete)
  delete(caller: WorkspaceCaller, input: PluginId) {
    return this.publishing.delete(caller, input);
  }

  @Handles(hub.plugins.get)
  get({ workspace }: WorkspaceCaller, input: PluginId) {
    return this.service.get({ of: workspace.id }, input);
  }

  @Handles(hub.plugins.getByName)
  getByName({ workspace }: WorkspaceCaller, input: PublicationName) {
    return this.service.getByName({ of: workspace.id }, input);
  }

  @Handles(hub.plugins.getDereferenced)
  getDereferenced({ workspace }: WorkspaceCaller, input: DereferencePlugin) {
    return this.service.getDereferenced({ of: workspace.id }, input);
  }

  @Handles(hub.plugins.getCode)
  getCode({ workspace }: WorkspaceCaller, input: PluginPlatform) {
    return this.service.getCode({ of: workspace.id }, input);
  }

  @Handles(hub.plugins.list)
  list({ workspace }: WorkspaceCaller, input: ListPublications) {
    return this.service.list({ of: workspace.id }, input);
  }

  @Handles(hub.publicPlugins.get)
  getPublic(_caller: AccountCaller, input: PluginId) {
    return this.service.get('everybody', input);
  }

  @Handles(hub.publicPlugins.getByName)
  getPublicByName(_caller: AccountCaller, input: PublicationName) {
    return this.service.getByName('everybody', input);
  }

  @Handles(hub.publicPlugins.getDereferenced)
  getPublicDereferenced(_caller: AccountCaller, input: DereferencePlugin) {
    return this.service.getDereferenced('everybody', input);
  }

  @Handles(hub.publicPlugins.getCode)
  getPublicCode(_caller: AccountCaller, input: PluginPlatform) {
    return this.service.getCode('everybody', input);
  }

  @Handles(hub.publicPlugins.list)
  listPublic(_caller: AccountCaller, input: ListPublications) {
    return this.service.list('everybody', input);
  }

  @Handles(hub.resolution.plugins)
  resolve(_caller: Caller, input: ResolvePlugins) {
    return this.service.resolve(input);
  }
}
