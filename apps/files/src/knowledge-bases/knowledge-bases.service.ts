import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, forbiddenHeader, notFound } from '@parley/contracts/errors';
import {
  type CreateKnowledgeBase,
  type KnowledgeBaseId,
  type KnowledgeBaseReply,
  type KnowledgeBases,
  knowledgeBases as operations,
  type ListKnowledgeBases,
  maxKnowledgeBaseTags,
  type UpdateKnowledgeBase,
} from '@parley/contracts/knowledge-bases';
import { toKnowledgeBase, toListedKnowledgeBase } from '../store/knowledge-base.entity';
import { Database } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { KnowledgeBasesRepository } from './knowledge-bases.repository';

@Injectable()
export class KnowledgeBasesService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly bases: KnowledgeBasesRepository,
  ) {}

  async create(caller: BotCaller, input: CreateKnowledgeBase): Promise<KnowledgeBaseReply> {
    refuseUsers(caller);
    return this.idempotency.runStatement(caller, operations.create, input, async (sql) => {
      const row = await this.bases.insertKnowledgeBase(sql, caller.bot.id, input);
      if (!row) throw forbiddenHeader('x-bot-id', caller.bot.id);
      return { knowledgeBase: toKnowledgeBase(row) };
    });
  }

  async list({ bot }: BotCaller, query: ListKnowledgeBases): Promise<KnowledgeBases> {
    const { rows, nextToken } = await this.bases.listByTags(bot.id, query);
    return { knowledgeBases: rows.map(toListedKnowledgeBase), meta: { nextToken } };
  }

  async update(caller: BotCaller, { id, name, tags = {} }: UpdateKnowledgeBase): Promise<KnowledgeBaseReply> {
    refuseUsers(caller);
    const { bot } = caller;
    const row = await this.database.transaction(async (tx) => {
      const updated = await this.bases.updateKnowledgeBase(tx, bot.id, id, name, tags);
      if (!updated) throw notFound('knowledge base', id);
      if (Object.keys(updated.tags).length > maxKnowledgeBaseTags) {
        throw new ApiError(
          'InvalidPayload',
          `tags must have at most ${maxKnowledgeBaseTags} entries, including stored ones.`,
        );
      }
      return updated;
    });
    return { knowledgeBase: toKnowledgeBase(row) };
  }

  async delete(caller: BotCaller, { id }: KnowledgeBaseId): Promise<object> {
    refuseUsers(caller);
    if (!(await this.bases.deleteKnowledgeBase(caller.bot.id, id))) throw notFound('knowledge base', id);
    return {};
  }
}

function refuseUsers({ user }: BotCaller): void {
  if (user) throw new ApiError('Forbidden', 'Users cannot change knowledge bases: leave out x-user-id.');
}
