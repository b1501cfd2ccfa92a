import { isDeepStrictEqual } from 'node:util';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { type ChangeInstallation, maxInstalledIntegrations } from '@parley/contracts/admin/bot-integrations';
import { type ChangePlugin, maxInstalledPlugins } from '@parley/contracts/admin/bot-plugins';
import { ApiError, notFound } from '@parley/contracts/errors';
import { type InstallableIntegration, type InstallablePlugins, resolution } from '@parley/contracts/hub/resolution';
import type { SchemaCheck } from '@parley/json-schema/compiled-schemas';
import { SchemaChecker } from '@parley/json-schema/schema-checker';
import { SecretBox } from '@parley/secrets/secret-box';
import { BotVisibilityRepository } from '../../people/access/bot-visibility.repository';
import { viewerOf } from '../../people/access/viewer';
import { builtInChat } from './built-in-chat';
import { requireAtMost } from './bot-definition';
import { type InstallationRow, type InstalledRows, openConfiguration, type PluginRow } from './installation.entity';
import { InstallationsRepository, type InstallationWrites } from './installations.repository';
import { applyChange, chooseAlias, type IntegrationPlan, isUnregistered, planIntegrations } from './integration-plan';
import { type PluginPlan, planPlugins, toPluginRow, toResolve } from './plugin-plan';

export interface InstallationChanges {
  integrations?: Record<string, ChangeInstallation | null>;
  plugins?: Record<string, ChangePlugin | null>;
  /** Keys `integrations` by alias instead of by integration id. */
  byAlias?: boolean;
}

/** Rows to write, valid for one revision of the bot's installations. */
export interface PreparedChanges extends InstallationWrites {
  revision: number;
}

/** Resolves changes of installations through the hub, and validates and encrypts their configurations. */
@Injectable()
export class InstallationPlannerService implements OnApplicationShutdown {
  private readonly checker = new SchemaChecker();

  constructor(
    private readonly installations: InstallationsRepository,
    private readonly botVisibility: BotVisibilityRepository,
    private readonly box: SecretBox,
    private readonly client: ParleyClient,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.checker.close();
  }

  async prepare(caller: WorkspaceCaller, botId: string, changes: InstallationChanges): Promise<PreparedChanges> {
    const current = await this.installations.findOfBot(caller.workspace.id, botId);
    if (!current || !(await this.botVisibility.isVisible(viewerOf(caller), botId))) throw notFound('bot', botId);
    const byAlias = changes.byAlias ?? false;
    const checks: SchemaCheck[] = [];

    const plan = planIntegrations(current.integrations, changes.integrations ?? {}, byAlias);
    const integrations = await this.changedIntegrations(caller, current, plan, byAlias, checks);
    const touched = new Set([...plan.removed, ...integrations.map(({ alias }) => alias)]);
    const kept = current.integrations.filter(({ alias }) => !touched.has(alias));
    const after = [...kept, ...integrations].sort((a, b) => (a.alias < b.alias ? -1 : 1));
    requireAtMost(maxInstalledIntegrations, 'integrations', Object.fromEntries(after.map((row) => [row.alias, row])));

    const pluginPlan = planPlugins(current.plugins, changes.plugins ?? {}, after, touched);
    const plugins = await this.changedPlugins(caller, current, pluginPlan, checks);
    const pluginAliases = [...current.plugins, ...plugins]
      .map(({ alias }) => alias)
      .filter((alias) => !pluginPlan.removed.includes(alias));
    requireAtMost(maxInstalledPlugins, 'plugins', Object.fromEntries(pluginAliases.map((alias) => [alias, true])));

    const problem = await this.checker.firstProblem(caller.workspace.id, checks);
    if (problem) throw new ApiError('InvalidPayload', `${problem}.`);
    return {
      revision: current.revision,
      integrations,
      removedIntegrations: plan.removed,
      unregistered: current.integrations.filter(
        (row) =>
          touched.has(row.alias) &&
          isUnregistered(
            row,
            integrations.find(({ alias }) => alias === row.alias),
          ),
      ),
      plugins,
      removedPlugins: pluginPlan.removed,
    };
  }

  /**
   * Appends the configuration of each enabled installation to `checks`. Throws ReferenceNotFound for an integration
   * that the workspace may not install.
   */
  private async changedIntegrations(
    caller: WorkspaceCaller,
    installed: InstalledRows & { chat_webhook_id: string | null },
    { requested, removed }: IntegrationPlan,
    byAlias: boolean,
    checks: SchemaCheck[],
  ): Promise<InstallationRow[]> {
    if (requested.length === 0) return [];
    const found = await this.findIntegrations(caller, [...new Set(requested.map(({ id }) => id))], idsOf(installed));
    const taken = new Set(installed.integrations.map(({ alias }) => alias).filter((alias) => !removed.includes(alias)));
    return requested.map((entry) => {
      const integration = found.get(entry.id);
      if (!integration) throw noSuchEntry(`integrations.${entry.key}`, 'integration', entry.id);
      const alias = chooseAlias(entry, integration.name, byAlias, taken);
      taken.add(alias);
      const isChatAgain = integration.id === builtInChat.id && !entry.current && installed.chat_webhook_id;
      const webhook = isChatAgain ? { webhook_id: installed.chat_webhook_id! } : {};
      const former = this.configurationOf(entry.current);
      const configuration = entry.change.configuration ?? former;
      const { row, schema } = applyChange(entry, integration, alias, !isDeepStrictEqual(configuration, former));
      if (row.enabled) checks.push({ schema, value: configuration, path: `integrations.${entry.key}.configuration` });
      return { ...row, ...webhook, configuration: this.seal(configuration) };
    });
  }

  private async findIntegrations(
    caller: WorkspaceCaller,
    ids: string[],
    installedIds: string[],
  ): Promise<Map<string, InstallableIntegration>> {
    const input = { workspaceId: caller.workspace.id, ids, installedIds };
    const { integrations } = await this.client.call(resolution.integrations, caller, input);
    return new Map(integrations.map((integration) => [integration.id, integration]));
  }

  /**
   * Appends the configuration of each enabled plugin to `checks`. Throws ReferenceNotFound for a plugin that the
   * workspace may not install, InvalidPayload when the hub cannot resolve it.
   */
  private async changedPlugins(
    caller: WorkspaceCaller,
    installed: InstalledRows,
    { requested }: PluginPlan,
    checks: SchemaCheck[],
  ): Promise<PluginRow[]> {
    if (requested.length === 0) return [];
    const input = {
      workspaceId: caller.workspace.id,
      plugins: requested.map(toResolve),
      installedIds: idsOf(installed),
    };
    const found: InstallablePlugins = await this.client.call(resolution.plugins, caller, input);
    const [problem] = found.problems;
    if (problem) throw new ApiError('InvalidPayload', `plugins.${problem.alias}: ${problem.problem}`);
    return requested.map((entry) => {
      const plugin = found.plugins.find(({ alias }) => alias === entry.alias);
      if (!plugin) throw noSuchEntry(`plugins.${entry.alias}`, 'plugin', entry.id);
      const row = toPluginRow(entry, plugin);
      const configuration = entry.configuration ?? this.configurationOf(entry.current);
      const path = `plugins.${entry.alias}.configuration`;
      if (row.enabled) checks.push({ schema: plugin.configurationSchema, value: configuration, path });
      return { ...row, configuration: this.seal(configuration) };
    });
  }

  private seal(configuration: Record<string, unknown>): string {
    return this.box.seal(JSON.stringify(configuration));
  }

  private configurationOf(row: InstallationRow | PluginRow | undefined): Record<string, unknown> {
    return openConfiguration(this.box, row?.configuration);
  }
}

function idsOf({ integrations, plugins }: InstalledRows): string[] {
  return [...integrations.map((row) => row.integration_id), ...plugins.map((row) => row.plugin_id)];
}

/** Same error for a missing entry and for a private one of another workspace. */
function noSuchEntry(path: string, kind: 'integration' | 'plugin', id: string): ApiError {
  return new ApiError('ReferenceNotFound', `${path}: ${kind} "${id}" not found, or this workspace may not install it.`);
}
