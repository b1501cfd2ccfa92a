import { Controller } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { type InstallationsChanged, refreshInstalled } from '@parley/contracts/admin/installations';
import { registrationsPending } from '@parley/contracts/admin/registrations';
import { type Caller, systemCaller } from '@parley/contracts/caller';
import {
  type HubEntryChanged,
  type InstallableIntegration,
  refreshInstallations,
  resolution,
} from '@parley/contracts/hub/resolution';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { TokensRepository } from '../../people/access/tokens.repository';
import { type InstallationRow, toPluginDefinition, toSummary } from './installation.entity';
import { InstallationsRepository, type PluginOfBot } from './installations.repository';

const integrationsAtOnce = 500;
/** Smaller batches than for integrations: each row carries its definition, which may be large. */
const pluginsAtOnce = 50;

/**
 * Refreshes stored summaries and definitions of an integration or plugin. Safe to repeat and in any order: reads the
 * hub's current state, and never replaces newer data.
 */
@Controller()
export class RefreshInstallationsHandler {
  constructor(
    private readonly database: Database,
    private readonly installations: InstallationsRepository,
    private readonly tokens: TokensRepository,
    private readonly outbox: Outbox,
    private readonly client: ParleyClient,
  ) {}

  @Consumes(refreshInstallations)
  async handle({ kind, id, isDeleted, workspaceId }: HubEntryChanged, { event }: Delivery): Promise<void> {
    if (isDeleted) return kind === 'integration' ? this.forgetIntegration(id) : undefined;
    if ((await this.installations.countBotsByEntry(id)) === 0) return;
    const caller = systemCaller(event.id);
    if (kind === 'integration')
      await this.refreshIntegrations(await this.findIntegrations(caller, workspaceId ?? '', [id]));
    await this.refreshPlugins(caller, kind, id);
  }

  /**
   * Closes a race: the hub may have changed between the read of an update and its commit, when its event did not reach
   * this bot yet. Writes nothing when all rows are up to date, and publishes nothing.
   */
  @Consumes(refreshInstalled)
  async refreshInstalled({ botId, workspaceId }: InstallationsChanged, { event }: Delivery): Promise<void> {
    const caller = systemCaller(event.id);
    const stored = await this.installations.listOldestSummaries(botId);
    if (stored.length > 0) await this.refreshOutdated(caller, workspaceId, stored);
    const plugins = await this.installations.listPluginsOfBot(botId);
    if (plugins.length > 0) await this.resolveAndRefreshPlugins(caller, workspaceId, plugins);
  }

  private async forgetIntegration(id: string): Promise<void> {
    await this.installations.updateStatusOfDeleted([id]);
    await this.tokens.deleteOfIntegration(id);
    this.client.broadcast(credentialsChanged, { reason: `integration ${id} was deleted` });
  }

  private async refreshOutdated(
    caller: Caller,
    workspaceId: string,
    stored: { id: string; updatedAt: string }[],
  ): Promise<void> {
    const found = await this.findIntegrations(
      caller,
      workspaceId,
      stored.map(({ id }) => id),
    );
    const times = new Map(found.map(({ id, updatedAt }) => [id, updatedAt]));
    const deleted = stored.filter(({ id }) => !times.has(id));
    if (deleted.length > 0) await this.installations.updateStatusOfDeleted(deleted.map(({ id }) => id));
    const isOlder = new Set(
      stored.filter(({ id, updatedAt }) => updatedAt < (times.get(id) ?? '')).map(({ id }) => id),
    );
    await this.refreshIntegrations(found.filter(({ id }) => isOlder.has(id)));
  }

  /** Includes installed integrations that are no longer published. */
  private async findIntegrations(caller: Caller, workspaceId: string, ids: string[]) {
    const input = { workspaceId, ids, installedIds: ids };
    return (await this.client.call(resolution.integrations, caller, input)).integrations;
  }

  private async refreshIntegrations(integrations: InstallableIntegration[]): Promise<void> {
    for (const integration of integrations) {
      const fresh = { summary: toSummary(integration), is_callable: integration.isCallable };
      while ((await this.refreshSome(fresh)) === integrationsAtOnce);
    }
  }

  private refreshSome(fresh: Pick<InstallationRow, 'summary' | 'is_callable'>): Promise<number> {
    return this.database.transaction(async (tx) => {
      const rows = await this.installations.updateOutdatedIntegrations(tx, fresh, integrationsAtOnce);
      const pending = new Set(rows.filter(({ is_pending }) => is_pending).map(({ bot_id }) => bot_id));
      for (const botId of pending) await this.outbox.add(tx, registrationsPending, { botId });
      return rows.length;
    });
  }

  private async refreshPlugins(caller: Caller, kind: 'integration' | 'plugin', id: string): Promise<void> {
    let batch: PluginOfBot[] = [];
    do {
      const last = batch.at(-1) ?? { bot_id: '', alias: '' };
      batch = await this.installations.listPluginsContaining(kind, id, last, pluginsAtOnce);
      for (const workspaceId of new Set(batch.map((row) => row.workspace_id))) {
        await this.resolveAndRefreshPlugins(
          caller,
          workspaceId,
          batch.filter((row) => row.workspace_id === workspaceId),
        );
      }
    } while (batch.length === pluginsAtOnce);
  }

  /**
   * Keeps a plugin unchanged when it can no longer be resolved. Uses row numbers as aliases, since rows of several bots
   * share aliases.
   */
  private async resolveAndRefreshPlugins(caller: Caller, workspaceId: string, rows: PluginOfBot[]): Promise<void> {
    const { plugins } = await this.client.call(resolution.plugins, caller, {
      workspaceId,
      plugins: rows.map(({ plugin_id, interfaces }, index) => ({
        alias: String(index),
        id: plugin_id,
        interfaces,
      })),
      installedIds: rows.flatMap(({ plugin_id, interfaces }) => [
        plugin_id,
        ...Object.values(interfaces).map(({ integrationId }) => integrationId),
      ]),
    });
    const fresh = plugins.map((plugin) => ({
      ...rows[Number(plugin.alias)]!,
      summary: toSummary(plugin),
      definition: toPluginDefinition(plugin),
    }));
    await this.installations.updateOutdatedPlugins(fresh);
  }
}
