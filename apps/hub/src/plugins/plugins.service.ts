import { Injectable } from '@nestjs/common';
import { ApiError, notFound } from '@parley/contracts/errors';
import type {
  DereferencePlugin,
  PluginCodeReply,
  PluginId,
  PluginPlatform,
  PluginReply,
  Plugins,
} from '@parley/contracts/hub/plugins';
import type { ListPublications, PublicationName } from '@parley/contracts/hub/publication';
import type { InstallablePlugins, PluginToResolve, ResolvePlugins } from '@parley/contracts/hub/resolution';
import { Database } from '@parley/persistence/database';
import { PublicationsRepository, type Scope, type Visible } from '../publishing/publications.repository';
import { dereference, type Implementer } from './dereference';
import { type PluginRow, toInstallable, toPlugin, toPluginEntry } from './plugin.entity';
import { PluginsRepository } from './plugins.repository';

type ReadScope = Exclude<Scope, Visible>;

/** Reads plugins: those of a workspace and the public ones. */
@Injectable()
export class PluginsService {
  constructor(
    private readonly database: Database,
    private readonly plugins: PluginsRepository,
    private readonly publications: PublicationsRepository,
  ) {}

  async get(scope: Scope, { id }: PluginId): Promise<PluginReply> {
    return { plugin: toPlugin(await this.getRow(scope, id)) };
  }

  async getByName(scope: Scope, publication: PublicationName): Promise<PluginReply> {
    const found = await this.publications.findByNameAndVersion(this.database, 'plugin', scope, publication);
    if (!found) throw notFound('plugin', `${publication.name} ${publication.version}`);
    return this.get(scope, found);
  }

  async list(scope: Scope, query: ListPublications): Promise<Plugins> {
    const { rows, nextToken } = await this.publications.listNewestFirst('plugin', scope, query);
    return { plugins: rows.map(toPluginEntry), meta: { nextToken } };
  }

  /** Needs read access to the plugin and to the bound integrations. */
  async getDereferenced(scope: ReadScope, { id, interfaces = {} }: DereferencePlugin): Promise<PluginReply> {
    const row = await this.getRow(scope, id);
    const visible = scope === 'everybody' ? scope : { visibleTo: scope.of };
    const implementers = await this.plugins.findImplementers(this.database, visible, Object.values(interfaces));
    const bindings = Object.entries(interfaces).map(([alias, integrationId]) => [alias, { integrationId }]);
    const definition = dereference(
      row.definition,
      row.dependencies.interfaces,
      Object.fromEntries(bindings) as PluginToResolve['interfaces'],
      implementers,
    );
    return { plugin: toPlugin({ ...row, definition }) };
  }

  async getCode(scope: Scope, { id, platform }: PluginPlatform): Promise<PluginCodeReply> {
    const code = await this.plugins.findPluginCode(this.database, scope, id, platform);
    if (code === undefined) throw notFound('code of a plugin', `${id} ${platform}`);
    return { code };
  }

  /** Resolves plugins for their installation; reports for each of the others the reason why it cannot be installed. */
  async resolve({ workspaceId, plugins, installedIds }: ResolvePlugins): Promise<InstallablePlugins> {
    const scope = { visibleTo: workspaceId, installedIds };
    const bound = plugins.flatMap(({ interfaces }) => Object.values(interfaces));
    const rows = await this.plugins.findPluginsByIds(
      this.database,
      scope,
      plugins.map(({ id }) => id),
    );
    const implementers = await this.plugins.findImplementers(
      this.database,
      scope,
      bound.map(({ integrationId }) => integrationId),
    );
    const resolved: InstallablePlugins = { plugins: [], problems: [] };
    for (const plugin of plugins) {
      const row = rows.find(({ id }) => id === plugin.id);
      if (!row) continue;
      try {
        resolved.plugins.push(install(plugin, row, implementers));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        resolved.problems.push({ alias: plugin.alias, problem: error.message });
      }
    }
    return resolved;
  }

  private async getRow(scope: Scope, id: string): Promise<PluginRow> {
    const row = await this.plugins.findPluginById(this.database, scope, id);
    if (!row) throw notFound('plugin', id);
    return row;
  }
}

/** Throws when an interface of the plugin is not implemented. */
function install({ alias, interfaces }: PluginToResolve, row: PluginRow, implementers: Map<string, Implementer>) {
  const definition = dereference(row.definition, row.dependencies.interfaces, interfaces, implementers);
  return toInstallable(alias, { ...row, definition });
}
