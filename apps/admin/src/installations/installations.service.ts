import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { hasPermission, type WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import {
  type BotIntegration,
  type ChangeInstallation,
  maxInstalledIntegrations,
} from '@parley/contracts/admin/bot-integrations';
import { type BotPlugin, type ChangePlugin, maxInstalledPlugins } from '@parley/contracts/admin/bot-plugins';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { type HubEntryId, installationsChanged } from '@parley/contracts/admin/installations';
import { ApiError, notFound } from '@parley/contracts/errors';
import { type InstallableIntegration, type InstallablePlugins, resolution } from '@parley/contracts/hub/resolution';
import type { Transaction } from '@parley/persistence/database';
import { SchemaChecker } from '@parley/json-schema/schema-checker';
import { Outbox } from '@parley/events/outbox';
import { SecretBox } from '@parley/secrets/secret-box';
import { AuditRepository } from '../audit/audit.repository';
import { AdminConfig } from '../config';
import { requireAtMost } from '../bots/bot-definition';
import { BotsRepository } from '../bots/bots.repository';
import { viewerOf } from '../bots/viewer';
import { builtInChat } from './built-in-chat';
import {
  type InstallationRow,
  type InstalledRows,
  openConfiguration,
  type PluginRow,
  toBotIntegration,
  toBotPlugin,
} from './installation.entity';
import { InstallationsRepository, type InstallationWrites } from './installations.repository';
import { applyChange, chooseAlias, type IntegrationPlan, planIntegrations } from './integration-plan';
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

const maxAttempts = 10;

type Check = Parameters<SchemaChecker['firstProblem']>[0][number];

@Injectable()
export class InstallationsService implements OnApplicationShutdown {
  private readonly checker = new SchemaChecker();

  constructor(
    private readonly installations: InstallationsRepository,
    private readonly bots: BotsRepository,
    private readonly audit: AuditRepository,
    private readonly outbox: Outbox,
    private readonly box: SecretBox,
    private readonly client: ParleyClient,
    private readonly config: AdminConfig,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.checker.close();
  }

  /**
   * Optimistic concurrency: prepares the changes with calls to the hub outside a transaction, then runs `commit`, which
   * calls `apply` in its transaction. Repeats both when another change of the bot's installations was committed in
   * between.
   */
  async change<T>(
    caller: WorkspaceCaller,
    botId: string,
    changes: InstallationChanges,
    commit: (prepared: PreparedChanges | undefined) => Promise<T>,
  ): Promise<T> {
    if (!changes.integrations && !changes.plugins) return commit(undefined);
    for (let attempt = 1; ; attempt += 1) {
      const prepared = await this.prepare(caller, botId, changes);
      try {
        return await commit(prepared);
      } catch (error) {
        if (!(error instanceof Overtaken) || attempt === maxAttempts) throw error;
      }
    }
  }

  /** Writes and announces the prepared changes. Throws `Overtaken` when they are out of date, so that `change` retries. */
  async apply(tx: Transaction, caller: WorkspaceCaller, botId: string, prepared: PreparedChanges): Promise<void> {
    const revision = await this.installations.nextRevision(tx, botId);
    if (revision !== prepared.revision + 1) throw new Overtaken();
    await this.installations.write(tx, botId, prepared);
    await this.announce(tx, botId);
    await this.audit.add(tx, caller, {
      workspaceId: caller.workspace.id,
      action: 'UPDATE_BOT_CHANNEL',
      operation: admin.bots.update,
      resourceId: botId,
      value: describe(prepared),
    });
    tx.afterCommit(() =>
      this.client.broadcast(credentialsChanged, { reason: `the integrations of bot ${botId} changed` }),
    );
  }

  async addChat(tx: Transaction, botId: string): Promise<InstalledRows> {
    await this.installations.nextRevision(tx, botId);
    await this.installations.addChat(tx, botId);
    return this.announce(tx, botId);
  }

  /** Announces that a bot has no installations; for a bot that this transaction deletes. */
  async announceNone(tx: Transaction, bot: { id: string; workspaceId: string; revision: number }): Promise<void> {
    const { id: botId, workspaceId, revision } = bot;
    await this.outbox.add(tx, installationsChanged, {
      ...{ botId, workspaceId, revision: revision + 1 },
      integrations: [],
      plugins: [],
    });
  }

  /** By id, an integration that is installed more than once is shown by its smallest alias: rows are sorted by alias. */
  show(caller: WorkspaceCaller, { integrations, plugins }: InstalledRows, byAlias = false) {
    const keyOf = (row: InstallationRow) => (byAlias ? row.alias : row.integration_id);
    const shown = integrations.filter((row) => row === integrations.find((other) => keyOf(other) === keyOf(row)));
    return {
      integrations: Object.fromEntries(shown.map((row) => [keyOf(row), this.showIntegration(caller, row)])),
      plugins: Object.fromEntries(plugins.map((row) => [row.alias, this.showPlugin(caller, row)])),
    };
  }

  async count({ id }: HubEntryId) {
    return { count: await this.installations.count(id) };
  }

  private async prepare(
    caller: WorkspaceCaller,
    botId: string,
    changes: InstallationChanges,
  ): Promise<PreparedChanges> {
    const current = await this.installations.find(caller.workspace.id, botId);
    if (!current || !(await this.bots.has(viewerOf(caller), botId))) throw notFound('bot', botId);
    const byAlias = changes.byAlias ?? false;
    const checks: Check[] = [];

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

    const problem = await this.checker.firstProblem(checks);
    if (problem) throw new ApiError('InvalidPayload', `${problem}.`);
    return {
      revision: current.revision,
      integrations,
      removedIntegrations: plan.removed,
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
    installed: InstalledRows,
    { wanted, removed }: IntegrationPlan,
    byAlias: boolean,
    checks: Check[],
  ): Promise<InstallationRow[]> {
    if (wanted.length === 0) return [];
    const found = await this.findIntegrations(caller, [...new Set(wanted.map(({ id }) => id))], idsOf(installed));
    const taken = new Set(installed.integrations.map(({ alias }) => alias).filter((alias) => !removed.includes(alias)));
    return wanted.map((entry) => {
      const integration = found.get(entry.id);
      if (!integration) throw noSuchEntry(`integrations.${entry.key}`, 'integration', entry.id);
      const alias = chooseAlias(entry, integration.name, byAlias, taken);
      taken.add(alias);
      const { row, schema } = applyChange(entry, integration, alias);
      const configuration = entry.change.configuration ?? this.configurationOf(row);
      if (row.enabled) checks.push({ schema, value: configuration, path: `integrations.${entry.key}.configuration` });
      return { ...row, configuration: this.seal(configuration) };
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
    { wanted }: PluginPlan,
    checks: Check[],
  ): Promise<PluginRow[]> {
    if (wanted.length === 0) return [];
    const input = {
      workspaceId: caller.workspace.id,
      plugins: wanted.map(toResolve),
      installedIds: idsOf(installed),
    };
    const found: InstallablePlugins = await this.client.call(resolution.plugins, caller, input);
    const [problem] = found.problems;
    if (problem) throw new ApiError('InvalidPayload', `plugins.${problem.alias}: ${problem.problem}`);
    return wanted.map((entry) => {
      const plugin = found.plugins.find(({ alias }) => alias === entry.alias);
      if (!plugin) throw noSuchEntry(`plugins.${entry.alias}`, 'plugin', entry.id);
      const row = toPluginRow(entry, plugin);
      const configuration = entry.configuration ?? this.configurationOf(entry.current);
      const path = `plugins.${entry.alias}.configuration`;
      if (row.enabled) checks.push({ schema: plugin.configurationSchema, value: configuration, path });
      return { ...row, configuration: this.seal(configuration) };
    });
  }

  private async announce(tx: Transaction, botId: string): Promise<InstalledRows> {
    const bot = await this.installations.get(tx, botId);
    await this.outbox.add(tx, installationsChanged, {
      botId,
      workspaceId: bot.workspace_id,
      revision: bot.revision,
      integrations: bot.integrations.map(({ alias, integration_id: id }) => ({ alias, id })),
      plugins: bot.plugins.map(({ alias, plugin_id: id }) => ({ alias, id })),
    });
    return bot;
  }

  private showIntegration(caller: WorkspaceCaller, row: InstallationRow): BotIntegration {
    const { publicUrl, chatUrl } = this.config;
    const base = row.integration_id === builtInChat.id ? (chatUrl ?? `${publicUrl}/chat`) : `${publicUrl}/webhooks`;
    return toBotIntegration(row, this.showConfiguration(caller, row), `${base}/${row.webhook_id}`);
  }

  private showPlugin(caller: WorkspaceCaller, row: PluginRow): BotPlugin {
    return toBotPlugin(row, this.showConfiguration(caller, row));
  }

  private showConfiguration({ role }: WorkspaceCaller, row: InstallationRow | PluginRow): Record<string, unknown> {
    return role !== undefined && hasPermission(role, 'write') ? this.configurationOf(row) : {};
  }

  private seal(configuration: Record<string, unknown>): string {
    return this.box.seal(JSON.stringify(configuration));
  }

  private configurationOf(row: InstallationRow | PluginRow | undefined): Record<string, unknown> {
    return openConfiguration(this.box, row?.configuration);
  }
}

/** Conflict: another change of the installations was committed first. */
class Overtaken extends ApiError {
  constructor() {
    super('ResourceLockedConflict', 'Other requests are changing the installations of this bot. Try again.');
  }
}

function idsOf({ integrations, plugins }: InstalledRows): string[] {
  return [...integrations.map((row) => row.integration_id), ...plugins.map((row) => row.plugin_id)];
}

/** Omits configurations, which may contain secrets. */
function describe({ integrations, removedIntegrations, plugins, removedPlugins }: PreparedChanges): string {
  const removed = (alias: string) => `${alias} removed`;
  const parts = {
    integrations: [
      ...integrations.map((row) => `${row.alias} ${row.integration_id}`),
      ...removedIntegrations.map(removed),
    ],
    plugins: [...plugins.map((row) => `${row.alias} ${row.plugin_id}`), ...removedPlugins.map(removed)],
  };
  return Object.entries(parts)
    .filter(([, changes]) => changes.length > 0)
    .map(([kind, changes]) => `${kind}: ${changes.join(', ')}`)
    .join('; ');
}

/** Same error for a missing entry and for a private one of another workspace. */
function noSuchEntry(path: string, kind: 'integration' | 'plugin', id: string): ApiError {
  return new ApiError('ReferenceNotFound', `${path}: ${kind} "${id}" not found, or this workspace may not install it.`);
}
