import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { ResolvedInstallation } from '@parley/contracts/admin/bot-definitions';
import { type ChangeOperation, messagesOutgoing } from '@parley/contracts/chat/outgoing-messages';
import { Outbox } from '@parley/events/outbox';
import type { Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { Every } from '@parley/work-queue/worker';
import { BotDefinitionsCache } from '../bots/bot-definitions.cache';
import { aliasOf } from '../queries/scope';
import type { OutgoingChangeEntity } from './outgoing-change.entity';
import { OutgoingChangesRepository } from './outgoing-changes.repository';

/** Deliveries end after 24 hours, and may wait for one before them. */
const keptHours = 48;
const cleanMs = 10 * 60_000;

export interface NewChange {
  conversationId: string;
  /** Alias of the installation that the conversation belongs to. */
  alias: string;
  messageId: string | null;
  /** Message or conversation before and after the change, with names as this viewer knows them. */
  states: (viewer: Pick<BotCaller, 'integration'>) => Pick<OutgoingChangeEntity, 'previous' | 'current'>;
}

/** Changes that the bot makes, for integrations that ask for them with `extraOperations`. */
@Injectable()
export class OutgoingChangesService {
  constructor(
    private readonly changes: OutgoingChangesRepository,
    private readonly botDefinitions: BotDefinitionsCache,
    private readonly outbox: Outbox,
  ) {}

  /** Installations that ask for the operation; none for a change of an integration itself. At most a second old. */
  async findListeners(caller: BotCaller, operation: ChangeOperation): Promise<ResolvedInstallation[]> {
    if (aliasOf(caller) !== null) return [];
    const { installations } = await this.botDefinitions.get(caller.bot.id);
    return installations.filter(({ enabled, extraOperations }) => enabled && extraOperations.includes(operation));
  }

  /**
   * Stores and announces the change if the installation is among the listeners and sees it. Requires the lock on the clock
   * of the conversation.
   */
  async add(tx: Transaction, botId: string, listeners: ResolvedInstallation[], change: NewChange): Promise<void> {
    const { alias, conversationId, messageId, states } = change;
    const listener = listeners.find((installation) => installation.alias === alias);
    if (!listener) return;
    const { previous, current } = states({ integration: { id: listener.integrationId, alias } });
    if (isDeepStrictEqual({ ...previous, updatedAt: '' }, { ...current, updatedAt: '' })) return;
    const id = newId('change');
    const row = { bot_id: botId, id, conversation_id: conversationId, message_id: messageId };
    await this.changes.insertChange(tx, { ...row, previous, current });
    const operation = messageId === null ? 'conversation_updated' : 'message_updated';
    await this.outbox.add(tx, messagesOutgoing, { botId, messages: [{ id, conversationId, change: operation }] });
  }

  /** Safe to run in several processes. */
  @Every({ name: 'chat.outgoingChangeRetention', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.changes.deleteOlderThan(keptHours);
  }
}
