import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import type {
  BotRuntime,
  FindWebhook,
  GetBotRuntime,
  RuntimeInstallation,
  WebhookTarget,
} from '@parley/contracts/admin/runtime';
import type { Caller } from '@parley/contracts/caller';
import { mapEntries } from '@parley/contracts/entries';
import { notFound } from '@parley/contracts/errors';
import { chatIntegration } from '@parley/contracts/hub/built-in';
import { type InstallableIntegration, resolution } from '@parley/contracts/hub/resolution';
import { SecretBox } from '@parley/secrets/secret-box';
import { openConfiguration } from '../installations/installation.entity';
import { prefixed } from '../installations/merged-definition';
import { RuntimeRepository, type RuntimeRow } from './runtime.repository';

/** What an integration adds to its bots. */
type Declared = Pick<InstallableIntegration, 'channels' | 'states'>;

const chat: Declared = {
  channels: Object.keys(chatIntegration.definition.channels),
  states: chatIntegration.definition.states,
};
const deleted: Declared = { channels: [], states: {} };

/** What the services that run bots need to know of them. */
@Injectable()
export class RuntimeService {
  constructor(
    private readonly runtimes: RuntimeRepository,
    private readonly box: SecretBox,
    private readonly bus: Bus,
  ) {}

  /** Fails as the hub does when that is needed and does not answer: half an answer would be believed. */
  async get(caller: Caller, { botId }: GetBotRuntime): Promise<BotRuntime> {
    const row = await this.runtimes.find(botId);
    if (!row) throw notFound('bot', botId);
    const declared = await this.declaredBy(caller, row);
    return {
      botId,
      workspaceId: row.workspace_id,
      states: row.plugins.reduce(
        (states, plugin) => ({ ...states, ...prefixed(plugin.alias, plugin.states) }),
        row.states,
      ),
      recurringEvents: mapEntries(row.recurring_events, ({ type, payload, schedule }) => ({ type, payload, schedule })),
      recurringEventsRevision: row.recurring_events_revision,
      installations: row.installations.map((installation) =>
        toRuntimeInstallation(installation, declared.get(installation.integration_id) ?? deleted),
      ),
    };
  }

  async webhook({ webhookId }: FindWebhook): Promise<WebhookTarget> {
    const row = await this.runtimes.findWebhook(webhookId);
    if (!row) throw notFound('webhook', webhookId);
    return {
      botId: row.bot_id,
      workspaceId: row.workspace_id,
      isBlocked: row.is_blocked,
      alias: row.alias,
      integrationId: row.integration_id,
      name: row.name,
      isChat: row.integration_id === chatIntegration.id,
      enabled: row.enabled,
      configuration: openConfiguration(this.box, row.configuration),
    };
  }

  /** By version id. The hub is asked once for all that do not come with the platform. */
  private async declaredBy(caller: Caller, row: RuntimeRow): Promise<Map<string, Declared>> {
    const known = new Map<string, Declared>([[chatIntegration.id, chat]]);
    const ids = [...new Set(row.installations.map((installation) => installation.integration_id))].filter(
      (id) => !known.has(id),
    );
    if (ids.length === 0) return known;
    const input = { workspaceId: row.workspace_id, ids, installedIds: ids };
    const { integrations } = await this.bus.call(resolution.integrations, caller, input);
    for (const integration of integrations) known.set(integration.id, integration);
    return known;
  }
}

function toRuntimeInstallation(
  row: RuntimeRow['installations'][number],
  { channels, states }: Declared,
): RuntimeInstallation {
  return {
    alias: row.alias,
    integrationId: row.integration_id,
    name: row.name,
    webhookId: row.webhook_id,
    enabled: row.enabled,
    isChat: row.integration_id === chatIntegration.id,
    channels: channels.filter((channel) => !row.disabled_channels.includes(channel)),
    states,
  };
}
