import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import { hub } from '@parley/contracts/hub/hub';
import {
  type DependencyDraft,
  type DependenciesDraft,
  PluginDefinition,
} from '@parley/contracts/hub/plugin-definition';
import type {
  CreatePlugin,
  Dependencies,
  Dependency,
  DereferencePlugin,
  PluginCodeReply,
  PluginId,
  PluginPlatform,
  PluginReply,
  Plugins,
  UpdatePlugin,
} from '@parley/contracts/hub/plugins';
import type { ListPublications, PublicationName } from '@parley/contracts/hub/publication';
import {
  hubEntryChanged,
  type InstallablePlugins,
  type PluginToResolve,
  type ResolvePlugins,
} from '@parley/contracts/hub/resolution';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { InstallationsService } from '../installations/installations.service';
import { audit } from '../publishing/audit';
import { checkDefinition } from '../publishing/check-definition';
import { mergeEntries } from '@parley/contracts/entries';
import { changeLabels, newLabels } from '../publishing/labels';
import { checkName } from '../publishing/publication-name';
import { PublicationsRepository, type Scope, type Visible } from '../publishing/publications.repository';
import { requirePublisher } from '../publishing/publisher';
import { checkSize } from '../publishing/size';
import { checkVersion } from '../publishing/versions';
import { visibilityAfter } from '../publishing/visibility';
import { WorkspacesService } from '../workspaces/workspaces.service';
import { dereference, type Implementer } from './dereference';
import { changeDefinition, type PluginRow, toInstallable, toPlugin, toPluginEntry } from './plugin.entity';
import { PluginsRepository, type PluginValues } from './plugins.repository';

const maxDependencies = 50;
type ReadScope = Exclude<Scope, Visible>;

const noDependencies: Dependencies = { interfaces: {}, integrations: {} };

@Injectable()
export class PluginsService {
  constructor(
    private readonly database: Database,
    private readonly plugins: PluginsRepository,
    private readonly publications: PublicationsRepository,
    private readonly workspaces: WorkspacesService,
    private readonly installations: InstallationsService,
    private readonly outbox: Outbox,
  ) {}

  async create(caller: WorkspaceCaller, input: CreatePlugin): Promise<PluginReply> {
    const visibility = visibilityAfter('private', input);
    if (visibility !== 'private') requirePublisher(caller);
    const { handle } = await this.workspaces.labelOf(caller);
    checkName(input.name, handle);
    checkVersion(input.version);
    const { name, version, sdkVersion, code } = input;
    const values: PluginValues = {
      workspace_id: caller.workspace.id,
      name,
      version,
      ...changeLabels(input, newLabels(name)),
      visibility,
      definition: changeDefinition(input),
      dependencies: noDependencies,
    };
    checkDefinition(PluginDefinition, values.definition);
    checkSize(values.definition);
    return this.database.transaction(async (tx) => {
      await this.publications.claimName(tx, 'plugin', values);
      await this.publications.requireVersionRoom(tx, 'plugin', values);
      const dependencies = await this.changeDependencies(tx, caller, noDependencies, input.dependencies);
      const created = await this.plugins.insertPlugin(tx, { ...values, dependencies }, { sdkVersion, ...code });
      await audit(this.outbox, tx, caller, { operation: hub.plugins.create, ...summaryOf(created) });
      return { plugin: toPlugin(created) };
    });
  }

  async update(caller: WorkspaceCaller, input: UpdatePlugin): Promise<PluginReply> {
    const label = await this.workspaces.labelToPublish(caller, input);
    return this.database.transaction(async (tx) => {
      const old = await this.getToChange(tx, caller, input);
      const visibility = visibilityAfter(old.visibility, input);
      if (visibility !== 'private') requirePublisher(caller);
      if (old.visibility === 'private' && label) checkName(old.name, label.handle);
      const definition = changeDefinition(input, old.definition);
      checkDefinition(PluginDefinition, definition);
      checkSize(definition);
      if (old.visibility === 'private') await this.publications.claimName(tx, 'plugin', { ...old, visibility });
      const dependencies = await this.changeDependencies(tx, caller, old.dependencies, input.dependencies);
      const { sdkVersion, code } = input;
      const updated = await this.plugins.updatePlugin(
        tx,
        { ...old, ...changeLabels(input, old), visibility, definition, dependencies },
        { sdkVersion, ...code },
      );
      await audit(this.outbox, tx, caller, { operation: hub.plugins.update, ...summaryOf(updated) });
      await this.announce(tx, caller, { id: input.id, isDeleted: false });
      return { plugin: toPlugin(updated) };
    });
  }

  async delete(caller: WorkspaceCaller, { id }: PluginId) {
    requireChanger(caller, await this.getRow({ of: caller.workspace.id }, id));
    // Calls admin: do not use inside of the transaction.
    await this.installations.requireUnused(caller, 'plugin', id);
    await this.database.transaction(async (tx) => {
      const row = await this.getToChange(tx, caller, { id });
      await this.plugins.deletePlugin(tx, id);
      await audit(this.outbox, tx, caller, { operation: hub.plugins.delete, id, name: row.name });
      await this.announce(tx, caller, { id, isDeleted: true });
    });
    return {};
  }

  async get(scope: Scope, { id }: PluginId): Promise<PluginReply> {
    return { plugin: toPlugin(await this.getRow(scope, id)) };
  }

  async getByName(scope: Scope, wanted: PublicationName): Promise<PluginReply> {
    const found = await this.publications.findByNameAndVersion(this.database, 'plugin', scope, wanted);
    if (!found) throw notFound('plugin', `${wanted.name} ${wanted.version}`);
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
    for (const wanted of plugins) {
      const row = rows.find(({ id }) => id === wanted.id);
      if (!row) continue;
      try {
        resolved.plugins.push(install(wanted, row, implementers));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        resolved.problems.push({ alias: wanted.alias, problem: error.message });
      }
    }
    return resolved;
  }

  private async getRow(scope: Scope, id: string): Promise<PluginRow> {
    const row = await this.plugins.findPluginById(this.database, scope, id);
    if (!row) throw notFound('plugin', id);
    return row;
  }

  private async getToChange(tx: Transaction, caller: WorkspaceCaller, { id }: PluginId): Promise<PluginRow> {
    const row = await this.plugins.findPluginForUpdate(tx, caller.workspace.id, id);
    if (!row) throw notFound('plugin', id);
    requireChanger(caller, row);
    return row;
  }

  private async changeDependencies(
    sql: Sql,
    { workspace }: WorkspaceCaller,
    old: Dependencies,
    { interfaces = {}, integrations = {} }: DependenciesDraft = {},
  ): Promise<Dependencies> {
    const dependencies = {
      interfaces: mergeEntries(old.interfaces, await this.findWanted(sql, workspace.id, 'interface', interfaces)),
      integrations: mergeEntries(
        old.integrations,
        await this.findWanted(sql, workspace.id, 'integration', integrations),
      ),
    };
    for (const [kind, entries] of Object.entries(dependencies)) {
      if (Object.keys(entries).length > maxDependencies)
        throw new ApiError('InvalidPayload', `dependencies.${kind} must have at most ${maxDependencies} entries.`);
    }
    return dependencies;
  }

  /** Throws ReferenceNotFound with the alias of a missing dependency, InvalidPayload for a draft without id and name. */
  private async findWanted(
    sql: Sql,
    workspaceId: string,
    kind: 'interface' | 'integration',
    drafts: Record<string, DependencyDraft | null>,
  ): Promise<Record<string, Dependency | null>> {
    const wanted = Object.entries(drafts).filter((entry): entry is [string, DependencyDraft] => entry[1] !== null);
    const found = await this.publications.findReferenced(sql, kind, workspaceId, Object.fromEntries(wanted));
    return Object.fromEntries(
      Object.entries(drafts).map(([alias, draft]) => [
        alias,
        draft && getDependency(`dependencies.${kind}s.${alias}`, draft, found[alias]),
      ]),
    );
  }

  private announce(tx: Transaction, { workspace }: WorkspaceCaller, change: { id: string; isDeleted: boolean }) {
    return this.outbox.add(tx, hubEntryChanged, { kind: 'plugin', workspaceId: workspace.id, ...change });
  }
}

function requireChanger(caller: WorkspaceCaller, { visibility }: PluginRow): void {
  if (visibility !== 'private') requirePublisher(caller);
}

function getDependency(
  path: string,
  { id, name, version }: DependencyDraft,
  found: Dependency | undefined,
): Dependency {
  if (!id && !name) throw new ApiError('InvalidPayload', `${path}: id or name is required.`);
  if (!found) throw new ApiError('ReferenceNotFound', `${path}: ${id ?? `${name} ${version ?? 'latest'}`} not found.`);
  return found;
}

function summaryOf({ id, name, visibility, version }: PluginRow) {
  return { id, name, value: `${visibility} ${version}` };
}

/** Throws when an interface of the plugin is not implemented. */
function install({ alias, interfaces }: PluginToResolve, row: PluginRow, implementers: Map<string, Implementer>) {
  const definition = dereference(row.definition, row.dependencies.interfaces, interfaces, implementers);
  return toInstallable(alias, { ...row, definition });
}
