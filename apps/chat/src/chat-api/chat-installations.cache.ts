import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { BotCaller } from '@parley/contracts/access';
import { botDefinitions, type WebhookTarget } from '@parley/contracts/admin/bot-definitions';
import { type Caller, systemCaller } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import { newId } from '@parley/persistence/ids';
import { CoalescingCache } from '../bots/coalescing-cache';
import type { KeyRealm } from './user-keys.service';

export interface ChatInstallation extends KeyRealm {
  workspaceId: string;
  alias: string;
  /** Integration version id. */
  integrationId: string;
}

const maxInstallations = 10_000;

/** Cache of native chat installations by webhook id. */
@Injectable()
export class ChatInstallationsCache {
  private readonly targets: CoalescingCache<WebhookTarget>;

  constructor(client: ParleyClient) {
    this.targets = new CoalescingCache(maxInstallations, (webhookId) =>
      client.call(botDefinitions.findByWebhookId, systemCaller(newId('req')), { webhookId }),
    );
  }

  /**
   * Cached for at most a second. Looked up again before a request is refused, here or because `isValid`
   * rejects the cached installation. Throws ResourceNotFound unless it is an enabled native chat, Forbidden while the
   * bot is blocked.
   */
  async get(
    webhookId: string,
    isValid: (installation: ChatInstallation) => boolean | Promise<boolean> = () => true,
  ): Promise<ChatInstallation> {
    const target = await this.targets.get(webhookId, (it) => !problemOf(it) && isValid(toInstallation(it)));
    if (problemOf(target) === 'absent') throw notFound('webhook', webhookId);
    if (problemOf(target) === 'blocked') throw new ApiError('Forbidden', 'The bot is blocked.');
    return toInstallation(target);
  }
}

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

/** Caller that acts as the installation for this user: idempotency keys are scoped per user. */
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
