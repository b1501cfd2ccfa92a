import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type {
  ResolvedBotDefinition,
  FindWebhook,
  GetBotDefinition,
  ResolvedInstallation,
  WebhookTarget,
} from '@parley/contracts/admin/bot-definitions';
import type { Caller } from '@parley/contracts/caller';
import { mapEntries } from '@parley/contracts/entries';
import { notFound } from '@parley/contracts/errors';
import { chatIntegration } from '@parley/contracts/hub/built-in';
import { type InstallableIntegration, resolution } from '@parley/contracts/hub/resolution';
import { SecretBox } from '@parley/secrets/secret-box';
import { openConfiguration } from '../installations/installation.entity';
import { allRecurringEvents, prefixed } from '../installations/merged-definition';
import { BotDefinitionsRepository, type BotDefinitionRow } from './bot-definitions.repository';

type Declared = Pick<InstallableIntegration, 'channels' | 'states' | 'extraOperations'>;

const chat: Declared = {
  channels: Object.keys(chatIntegration.definition.channels),
  states: chatIntegration.definition.states,
  extraOperations: [],
};
const deleted: Declared = { channels: [], states: {}, extraOperations: [] };

@Injectable()
export class BotDefinitionsService {
  constructor(
    private readonly botDefinitions: BotDefinitionsRepository,
    private readonly box: SecretBox,
    private readonly client: ParleyClient,
  ) {}

  /** Fails when the hub is needed and unavailable: callers would take a partial reply for the complete one. */
  async get(caller: Caller, { botId }: GetBotDefinition): Promise<ResolvedBotDefinition> {
    const row = await this.botDefinitions.findByBotId(botId);
    if (!row) throw notFound('bot', botId);
    const declared = await this.declaredBy(caller, row);
    return {
      botId,
      workspaceId: row.workspace_id,
      states: row.plugins.reduce(
        (states, plugin) => ({ ...states, ...prefixed(plugin.alias, plugin.states) }),
        row.states,
      ),
      recurringEvents: mapEntries(
        allRecurringEvents(row.recurring_events, row.plugins),
        ({ type, payload, schedule }) => ({ type, payload, schedule }),
      ),
      recurringEventsRevision: row.recurring_events_revision,
      installations: row.installations.map((installation) =>
        toResolvedInstallation(installation, declared.get(installation.integration_id) ?? deleted),
      ),
    };
  }

  async findByWebhookId({ webhookId }: FindWebhook): Promise<WebhookTarget> {
    const row = await this.botDefinitions.findByWebhookId(webhookId);
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

  /** By version id. One call to the hub for all integrations except the built-in chat. */
  private async declaredBy(caller: Caller, row: BotDefinitionRow): Promise<Map<string, Declared>> {
    const known = new Map<string, Declared>([[chatIntegration.id, chat]]);
    const ids = [...new Set(row.installations.map((installation) => installation.integration_id))].filter(
      (id) => !known.has(id),
    );
    if (ids.length === 0) return known;
    const input = { workspaceId: row.workspace_id, ids, installedIds: ids };
    const { integrations } = await this.client.call(resolution.integrations, caller, input);
    for (const integration of integrations) known.set(integration.id, integration);
    return known;
  }
}

function toResolvedInstallation(
  row: BotDefinitionRow['installations'][number],
  { channels, states, extraOperations }: Declared,
): ResolvedInstallation {
  return {
    alias: row.alias,
    integrationId: row.integration_id,
    name: row.name,
    webhookId: row.webhook_id,
    enabled: row.enabled,
    isChat: row.integration_id === chatIntegration.id,
    channels: channels.filter((channel) => !row.disabled_channels.includes(channel)),
    states,
    extraOperations,
  };
}
