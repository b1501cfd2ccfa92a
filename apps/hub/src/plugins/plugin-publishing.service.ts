import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { notFound } from '@parley/contracts/errors';
import { hub } from '@parley/contracts/hub/hub';
import { PluginDefinition } from '@parley/contracts/hub/plugin-definition';
import type { CreatePlugin, PluginId, PluginReply, UpdatePlugin } from '@parley/contracts/hub/plugins';
import { hubEntryChanged } from '@parley/contracts/hub/resolution';
import { Database, type Transaction } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { InstallationsService } from '../installations/installations.service';
import { audit } from '../publishing/audit';
import { checkDefinition } from '../publishing/check-definition';
import { changeLabels, newLabels } from '../publishing/labels';
import { checkName } from '../publishing/publication-name';
import { PublicationsRepository } from '../publishing/publications.repository';
import { requirePublisher } from '../publishing/publisher';
import { checkSize } from '../publishing/size';
import { checkVersion } from '../publishing/versions';
import { visibilityAfter } from '../publishing/visibility';
import { WorkspacesService } from '../workspaces/workspaces.service';
import { noDependencies, PluginDependenciesService } from './plugin-dependencies.service';
import { changeDefinition, type PluginRow, toPlugin } from './plugin.entity';
import { PluginsRepository, type PluginValues } from './plugins.repository';

/** Creates, changes and deletes versions of plugins. */
@Injectable()
export class PluginPublishingService {
  constructor(
    private readonly database: Database,
    private readonly plugins: PluginsRepository,
    private readonly publications: PublicationsRepository,
    private readonly dependencies: PluginDependenciesService,
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
      const dependencies = await this.dependencies.change(tx, caller, noDependencies, input.dependencies);
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
      const dependencies = await this.dependencies.change(tx, caller, old.dependencies, input.dependencies);
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
    await this.database.transaction(async (tx) => {
      const row = await this.getToChange(tx, caller, { id });
      await this.installations.requireUnused(tx, 'plugin', id);
      await this.plugins.deletePlugin(tx, id);
      await audit(this.outbox, tx, caller, { operation: hub.plugins.delete, id, name: row.name });
      await this.announce(tx, caller, { id, isDeleted: true });
    });
    return {};
  }

  private async getToChange(tx: Transaction, caller: WorkspaceCaller, { id }: PluginId): Promise<PluginRow> {
    const row = await this.plugins.findPluginForUpdate(tx, caller.workspace.id, id);
    if (!row) throw notFound('plugin', id);
    requireChanger(caller, row);
    return row;
  }

  private announce(tx: Transaction, { workspace }: WorkspaceCaller, change: { id: string; isDeleted: boolean }) {
    return this.outbox.add(tx, hubEntryChanged, { kind: 'plugin', workspaceId: workspace.id, ...change });
  }
}

function requireChanger(caller: WorkspaceCaller, { visibility }: PluginRow): void {
  if (visibility !== 'private') requirePublisher(caller);
}

function summaryOf({ id, name, visibility, version }: PluginRow) {
  return { id, name, value: `${visibility} ${version}` };
}
