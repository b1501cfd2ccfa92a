import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import type { BotCaller } from '@parley/contracts/access';
import { runtime, type WebhookTarget } from '@parley/contracts/admin/runtime';
import { type Caller, systemCaller } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import { newId } from '@parley/database/ids';
import { RecentAnswers } from '../runtime/recent-answers';
import type { KeyRealm } from './user-keys';

/** The chat of one bot. */
export interface ChatInstallation extends KeyRealm {
  workspaceId: string;
  alias: string;
  /** Version id. */
  integrationId: string;
}

const maxInstallations = 10_000;

/** Which bot's chat a webhook id means. */
@Injectable()
export class ChatInstallations {
  private readonly answers: RecentAnswers<WebhookTarget>;

  constructor(bus: Bus) {
    this.answers = new RecentAnswers(maxInstallations, (webhookId) =>
      bus.call(runtime.webhook, systemCaller(newId('req')), { webhookId }),
    );
  }

  /**
   * At most a second old, and asked afresh before it is refused, by this or by who asks, for whom it is not `good`. Throws
   * ResourceNotFound for whatever is not the chat of a bot, and Forbidden while the bot is blocked.
   */
  async get(
    webhookId: string,
    good: (installation: ChatInstallation) => boolean | Promise<boolean> = () => true,
  ): Promise<ChatInstallation> {
    const target = await this.answers.get(webhookId, (it) => !problemOf(it) && good(toInstallation(it)));
    if (problemOf(target) === 'absent') throw notFound('webhook', webhookId);
    if (problemOf(target) === 'blocked') throw new ApiError('Forbidden', 'The bot is blocked.');
    return toInstallation(target);
  }

  /** Throws as `get` does. */
  async greet(webhookId: string): Promise<object> {
    await this.get(webhookId);
    return {};
  }
}

/** The caller who acts as the installation, for what the runtime API does as well. */
export function asInstallation(
  caller: Caller,
  { botId, workspaceId, alias, integrationId }: ChatInstallation,
): BotCaller {
  return {
    ...caller,
    workspace: { id: workspaceId },
    bot: { id: botId, workspaceId },
    integration: { id: integrationId, alias },
  };
}

/** The same for this user of the installation, whose idempotency keys are nobody else's. */
export function asUser(caller: Caller, installation: ChatInstallation, user: { id: string }): BotCaller {
  return { ...asInstallation(caller, installation), user: { id: user.id } };
}

function problemOf({ isChat, enabled, isBlocked }: WebhookTarget): 'absent' | 'blocked' | undefined {
  if (!isChat || !enabled) return 'absent';
  return isBlocked ? 'blocked' : undefined;
}

function toInstallation({ botId, workspaceId, alias, integrationId, configuration }: WebhookTarget): ChatInstallation {
  const { encryptionKey } = configuration;
  const ownKey = typeof encryptionKey === 'string' && encryptionKey !== '' ? encryptionKey : undefined;
  return { botId, workspaceId, alias, integrationId, encryptionKey: ownKey };
}
