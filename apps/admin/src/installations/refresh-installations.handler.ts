import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import type { Delivery } from '@parley/bus/event-stream';
import { Consumes } from '@parley/bus/handles';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { type Caller, systemCaller } from '@parley/contracts/caller';
import { type HubEntryChanged, hubEntryChanged, resolution } from '@parley/contracts/hub/resolution';
import { TokensRepository } from '../tokens/tokens.repository';
import { statusOf, toPluginDefinition, toSummary } from './installation.entity';
import { InstallationsRepository, type PluginOfBot } from './installations.repository';

const integrationsAtOnce = 500;
/** Each with its definition, which may be large. */
const pluginsAtOnce = 50;

/**
 * Brings what bots show of an integration or plugin up to date. Safe to repeat and in any order: the hub is asked for how
 * it is now, and nothing newer is replaced by it.
 */
@Injectable()
export class RefreshInstallationsHandler {
  constructor(
    private readonly installations: InstallationsRepository,
    private readonly tokens: TokensRepository,
    private readonly bus: Bus,
  ) {}

  @Consumes(hubEntryChanged, { name: 'admin.refreshInstallations' })
  async handle({ kind, id, isDeleted, workspaceId }: HubEntryChanged, { event }: Delivery): Promise<void> {
    if (isDeleted) return kind === 'integration' ? this.revokeKeys(id) : undefined;
    if ((await this.installations.count(id)) === 0) return;
    const caller = systemCaller(event.id);
    if (kind === 'integration') await this.refreshIntegrations(caller, id, workspaceId ?? '');
    await this.refreshPlugins(caller, kind, id);
  }

  private async revokeKeys(id: string): Promise<void> {
    await this.tokens.deleteOfIntegration(id);
    this.bus.broadcast(credentialsChanged, { reason: `integration ${id} was deleted` });
  }

  /** Where it is installed it stays so, even when it is no longer published. */
  private async refreshIntegrations(caller: Caller, id: string, workspaceId: string): Promise<void> {
    const { integrations } = await this.bus.call(resolution.integrations, caller, {
      workspaceId,
      ids: [id],
      installedIds: [id],
    });
    for (const integration of integrations) {
      const fresh = { summary: toSummary(integration), ...statusOf(true, integration.isCallable) };
      let count: number;
      do count = await this.installations.refreshIntegrations(fresh, integrationsAtOnce);
      while (count === integrationsAtOnce);
    }
  }

  private async refreshPlugins(caller: Caller, kind: 'integration' | 'plugin', id: string): Promise<void> {
    let batch: PluginOfBot[] = [];
    do {
      const last = batch.at(-1) ?? { bot_id: '', alias: '' };
      batch = await this.installations.listPluginsShowing(kind, id, last, pluginsAtOnce);
      for (const workspaceId of new Set(batch.map((row) => row.workspace_id))) {
        await this.refreshPluginsOf(
          caller,
          workspaceId,
          batch.filter((row) => row.workspace_id === workspaceId),
        );
      }
    } while (batch.length === pluginsAtOnce);
  }

  /** One that cannot be resolved any more stays as it was. Rows of several bots share aliases, so they are told by number. */
  private async refreshPluginsOf(caller: Caller, workspaceId: string, rows: PluginOfBot[]): Promise<void> {
    const { plugins } = await this.bus.call(resolution.plugins, caller, {
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
    await this.installations.refreshPlugins(fresh);
  }
}
