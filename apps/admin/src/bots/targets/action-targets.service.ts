import { Injectable } from '@nestjs/common';
import type { ActionTarget, GetActionTarget } from '@parley/contracts/admin/targets';
import type { ActionSignature } from '@parley/contracts/definition';
import { ApiError, notFound } from '@parley/contracts/errors';
import { chatIntegration } from '@parley/contracts/hub/built-in';
import { type InstalledRow, TargetsRepository } from './targets.repository';

const chatActions: Record<string, ActionSignature> = chatIntegration.definition.actions;

@Injectable()
export class ActionTargetsService {
  constructor(private readonly targets: TargetsRepository) {}

  /** Throws ResourceNotFound for an unknown action or alias. */
  async getAction({ botId, type }: GetActionTarget): Promise<ActionTarget> {
    const [ofIntegration, integrationAction] = divided(type, ':');
    if (integrationAction !== undefined) return this.getInstalled(botId, ofIntegration, integrationAction);
    const [ofPlugin, pluginAction] = divided(type, '#');
    const action =
      pluginAction === undefined
        ? await this.targets.findActionOfBot(botId, type)
        : await this.targets.findActionOfPlugin(botId, ofPlugin, pluginAction);
    if (!action) throw notFound('action', type);
    return { callee: 'bot', integrationName: null, integrationId: null, obstacle: null, ...schemasOf(action) };
  }

  private async getInstalled(botId: string, alias: string, name: string): Promise<ActionTarget> {
    const row = await this.targets.findInstalled(botId, alias);
    if (!row)
      throw new ApiError(
        'ResourceNotFound',
        `The bot has no integration with the alias "${alias}" (action "${name}").`,
      );
    const base = { integrationName: row.name, obstacle: obstacleOf(alias, row) };
    const { integration_id: integrationId } = row;
    if (integrationId !== chatIntegration.id)
      return { ...base, callee: 'integration', integrationId, inputSchema: null, outputSchema: null };
    if (!Object.hasOwn(chatActions, name)) throw notFound('action', `${alias}:${name}`);
    return { ...base, callee: 'chat', integrationId: null, ...schemasOf(chatActions[name]!) };
  }
}

function obstacleOf(alias: string, { enabled, status, status_reason }: InstalledRow): string | null {
  if (!enabled) return `The integration "${alias}" is disabled in this bot: enable it to call its actions.`;
  if (status !== 'registration_failed') return null;
  return `The integration "${alias}" did not register: ${status_reason ?? 'unknown reason.'} Mend it, and update the bot.`;
}

/** Both parts of the name; the second one is undefined without the separator. */
function divided(type: string, separator: ':' | '#'): [string, string?] {
  const place = type.indexOf(separator);
  return place < 0 ? [type] : [type.slice(0, place), type.slice(place + 1)];
}

function schemasOf({ input, output }: ActionSignature) {
  return { inputSchema: input.schema, outputSchema: output.schema };
}
