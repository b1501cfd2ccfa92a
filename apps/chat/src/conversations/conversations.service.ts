import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { ResolvedInstallation } from '@parley/contracts/admin/bot-definitions';
import { maxProperties, maxTags } from '@parley/contracts/chat/chat-fields';
import {
  type ConversationId,
  type ConversationReply,
  type Conversations,
  type CreateConversation,
  type GetOrCreateConversation,
  type GottenOrCreatedConversation,
  type ListConversations,
  type UpdateConversation,
  conversations as operations,
} from '@parley/contracts/chat/conversations';
import { ApiError, notFound } from '@parley/contracts/errors';
import { subjectErased } from '@parley/contracts/chat/erased-subjects';
import { Outbox } from '@parley/events/outbox';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { BotDefinitionsCache } from '../bots/bot-definitions.cache';
import { channelsOf, installationWith, namedInstallation } from '../bots/installations';
import { aliasOf, scopeOf, storedNames } from '../queries/scope';
import { eraseConversations } from '../bots/erasure.service';
import { OutgoingChangesService } from '../announcements/outgoing-changes.service';
import { SignalsService } from '../signals/signals.service';
import { discriminatingTags, lockTags, mergedProperties, mergedTags } from '../tags/object-tags';
import { TagsRepository } from '../tags/tags.repository';
import { type ConversationWithCount, toConversation } from './conversation.entity';
import { ConversationsRepository } from './conversations.repository';

@Injectable()
export class ConversationsService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly conversations: ConversationsRepository,
    private readonly tags: TagsRepository,
    private readonly botDefinitions: BotDefinitionsCache,
    private readonly signals: SignalsService,
    private readonly outgoingChanges: OutgoingChangesService,
    private readonly outbox: Outbox,
    private readonly work: WorkQueue,
  ) {}

  async create(caller: BotCaller, input: CreateConversation): Promise<ConversationReply> {
    const known = await this.idempotency.find<ConversationReply>(caller, operations.create, input);
    if (known) return known;
    const installation = await this.installationFor(caller, input);
    return this.idempotency.runStatement(caller, operations.create, input, async (sql) => ({
      conversation: toConversation(caller, await this.insert(sql, caller, installation, input)),
    }));
  }

  async get(caller: BotCaller, { id }: ConversationId): Promise<ConversationReply> {
    return { conversation: toConversation(caller, await this.find(caller, id)) };
  }

  /** Throws ResourceNotFound also for a conversation that the caller may not access. */
  async find(caller: BotCaller, id: string): Promise<ConversationWithCount> {
    const row = await this.conversations.findConversationById(scopeOf(caller), id);
    if (!row) throw notFound('conversation', id);
    return row;
  }

  async getOrCreate(caller: BotCaller, input: GetOrCreateConversation): Promise<GottenOrCreatedConversation> {
    const known = await this.idempotency.find<GottenOrCreatedConversation>(caller, operations.getOrCreate, input);
    if (known) return known;
    const installation = await this.installationFor(caller, input);
    const { alias } = installation;
    const scope = { botId: caller.bot.id, alias };
    const tags = storedNames(caller, discriminatingTags(input));
    const isIdentified = Object.keys(tags).length > 0;
    // With an idempotency key the result is stored, so this shortcut does not apply.
    const found =
      isIdentified &&
      caller.idempotencyKey === undefined &&
      (await this.conversations.findOldestConversationByTags(scope, input.channel, tags));
    if (found) return { conversation: toConversation(caller, found), meta: { created: false } };
    return this.idempotency.run(caller, operations.getOrCreate, input, async (tx) => {
      const { row, created } = await this.getOrCreateIn(tx, caller, installation, input);
      return { conversation: toConversation(caller, row), meta: { created } };
    });
  }

  /** Holds a lock on the identifying tags until the end of the transaction. */
  async getOrCreateIn(
    tx: Transaction,
    caller: BotCaller,
    installation: ResolvedInstallation,
    input: GetOrCreateConversation,
  ): Promise<{ row: ConversationWithCount; created: boolean }> {
    const { alias } = installation;
    const scope = { botId: caller.bot.id, alias };
    const tags = storedNames(caller, discriminatingTags(input));
    const isIdentified = Object.keys(tags).length > 0;
    if (isIdentified) await lockTags(tx, ['conversation', scope.botId, alias, input.channel], tags);
    const other =
      isIdentified && (await this.conversations.findOldestConversationByTags(scope, input.channel, tags, tx));
    return { row: other || (await this.insert(tx, caller, installation, input)), created: !other };
  }

  async list(caller: BotCaller, query: ListConversations): Promise<Conversations> {
    const { integrationName, ...rest } = query;
    const scope = scopeOf(caller);
    const alias = integrationName === undefined ? scope.alias : await this.aliasNamed(caller, integrationName);
    if (scope.alias !== null && alias !== scope.alias) return { conversations: [], meta: {} };
    const tags = query.tags && storedNames(caller, query.tags);
    const { rows, nextToken } = await this.conversations.listConversations({ ...scope, alias }, { ...rest, tags });
    return { conversations: rows.map((row) => toConversation(caller, row)), meta: { nextToken } };
  }

  async update(caller: BotCaller, { id, ...changes }: UpdateConversation): Promise<ConversationReply> {
    const listeners = await this.outgoingChanges.findListeners(caller, 'conversation_updated');
    return this.database.transaction(async (tx) => {
      if (listeners.length > 0) await this.signals.lockClock(tx, caller.bot.id, id);
      const before = await this.lock(tx, caller, id);
      const after = await this.conversations.updateConversation(tx, changed(before, caller, changes));
      await this.tags.replaceTags(tx, 'conversation', after, before.tags, after.tags);
      await this.outgoingChanges.add(tx, caller.bot.id, listeners, {
        ...{ conversationId: id, alias: before.integration_alias, messageId: null },
        states: (viewer) => ({ previous: toConversation(viewer, before), current: toConversation(viewer, after) }),
      });
      return { conversation: toConversation(caller, after) };
    });
  }

  async delete(caller: BotCaller, { id }: ConversationId): Promise<object> {
    return this.database.transaction(async (tx) => {
      await this.signals.lockClock(tx, caller.bot.id, id);
      const row = await this.lock(tx, caller, id);
      const participantIds = await this.conversations.listParticipantIds(tx, row);
      const ends = participantIds.map((closes) => ({ type: 'conversation_deleted', closes }));
      await this.signals.add(tx, row.bot_id, row.id, ends);
      await this.conversations.deleteConversation(tx, row);
      await this.outbox.add(tx, subjectErased, { botId: row.bot_id, conversationId: row.id });
      await this.work.add(tx, eraseConversations, [{ key: row.id, tenant: row.bot_id, payload: null }]);
      await this.tags.removeTags(tx, 'conversation', row, row.tags);
      return {};
    });
  }

  private async lock(tx: Sql, caller: BotCaller, id: string): Promise<ConversationWithCount> {
    const row = await this.conversations.lockConversation(tx, scopeOf(caller), id);
    if (!row) throw notFound('conversation', id);
    return row;
  }

  private insert(
    sql: Sql,
    caller: BotCaller,
    { alias, integrationId, isChat }: ResolvedInstallation,
    { channel, tags, properties }: GetOrCreateConversation,
  ): Promise<ConversationWithCount> {
    return this.conversations.insertConversation(
      {
        bot_id: caller.bot.id,
        integration_alias: alias,
        integration_id: integrationId,
        channel,
        is_chat: isChat,
        tags: mergedTags({}, storedNames(caller, tags), maxTags),
        properties: mergedProperties({}, properties ?? {}, maxProperties),
        foreign_id: null,
        owner_id: null,
      },
      sql,
    );
  }

  /** Throws ReferenceNotFound for an unknown integration and InvalidPayload for an unknown or ambiguous channel. */
  async installationFor(
    caller: BotCaller,
    { channel, integrationName }: { channel: string; integrationName?: string },
  ): Promise<ResolvedInstallation> {
    const own = aliasOf(caller);
    const named = integrationName ?? own ?? undefined;
    if (named === undefined) {
      const installation = await this.botDefinitions.find(caller.bot.id, (bot) => installationWith(bot, channel));
      return installation ?? this.refuseChannel(caller, channel);
    }
    const hasChannel = ({ channels }: ResolvedInstallation) => channels.includes(channel);
    const found = await this.botDefinitions.find(caller.bot.id, (bot) => {
      const installation = namedInstallation(bot, named, own);
      return installation && hasChannel(installation) ? installation : undefined;
    });
    const installation = found ?? namedInstallation(await this.botDefinitions.get(caller.bot.id), named, own);
    if (!installation || (own !== null && installation.alias !== own)) throw notInstalled(named);
    return hasChannel(installation) ? installation : this.refuseChannel(caller, channel, installation);
  }

  private async refuseChannel(caller: BotCaller, channel: string, of?: ResolvedInstallation): Promise<never> {
    const installations = of ? [of] : (await this.botDefinitions.get(caller.bot.id)).installations;
    throw new ApiError(
      'InvalidPayload',
      of || installationsWith(installations, channel) === 0
        ? `channel "${channel}" not found in ${of ? `integration "${of.alias}"` : 'the integrations of this bot'}. Available: ${channelsOf(installations)}.`
        : `channel "${channel}" is ambiguous: several integrations have it. Name one by the header x-integration-alias or by integrationName. Available: ${channelsOf(installations)}.`,
    );
  }

  private async aliasNamed(caller: BotCaller, integrationName: string): Promise<string> {
    const own = aliasOf(caller);
    const named = await this.botDefinitions.find(caller.bot.id, (bot) => namedInstallation(bot, integrationName, own));
    // The integration may have been uninstalled: its conversations remain.
    return named?.alias ?? integrationName;
  }
}

function notInstalled(name: string): ApiError {
  return new ApiError(
    'ReferenceNotFound',
    `integrationName "${name}" not found: no such integration is installed in this bot.`,
  );
}

function installationsWith(installations: ResolvedInstallation[], channel: string): number {
  return installations.filter(({ enabled, channels }) => enabled && channels.includes(channel)).length;
}

function changed(
  row: ConversationWithCount,
  caller: BotCaller,
  changes: Omit<UpdateConversation, 'id'>,
): ConversationWithCount {
  const { currentTaskId, tags, properties } = changes;
  return {
    ...row,
    current_task_id: currentTaskId === undefined ? row.current_task_id : currentTaskId || null,
    tags: tags ? mergedTags(row.tags, storedNames(caller, tags), maxTags) : row.tags,
    properties: mergedProperties(row.properties, properties ?? {}, maxProperties),
  };
}
