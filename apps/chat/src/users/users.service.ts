import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { maxProperties, maxTags } from '@parley/contracts/chat/chat-fields';
import {
  type CreateUser,
  type Existence,
  type GetOrCreateUser,
  type GottenOrCreatedUser,
  type ListUsers,
  type UpdateUser,
  type UserId,
  type UserOfBot,
  type UserReply,
  type Users,
  users as operations,
} from '@parley/contracts/chat/users';
import { ApiError, notFound } from '@parley/contracts/errors';
import { subjectErased } from '@parley/contracts/chat/erased-subjects';
import { Outbox } from '@parley/events/outbox';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { BotDefinitionsCache } from '../bots/bot-definitions.cache';
import { namedInstallation } from '../bots/installations';
import { aliasOf, scopeOf, storedNames } from '../queries/scope';
import { SignalsService } from '../signals/signals.service';
import { discriminatingTags, lockTags, mergedProperties, mergedTags } from '../tags/object-tags';
import { TagsRepository } from '../tags/tags.repository';
import { toUser, type UserEntity } from './user.entity';
import { UsersRepository } from './users.repository';

@Injectable()
export class UsersService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly users: UsersRepository,
    private readonly tags: TagsRepository,
    private readonly botDefinitions: BotDefinitionsCache,
    private readonly signals: SignalsService,
    private readonly outbox: Outbox,
  ) {}

  async create(caller: BotCaller, input: CreateUser): Promise<UserReply> {
    const known = await this.idempotency.find<UserReply>(caller, operations.create, input);
    if (known) return known;
    const alias = await this.aliasFor(caller, input.integrationName);
    return this.idempotency.runStatement(caller, operations.create, input, async (sql) => ({
      user: toUser(caller, await this.insert(sql, caller, alias, input)),
    }));
  }

  async get(caller: BotCaller, { id }: UserId): Promise<UserReply> {
    const row = await this.users.findUserById(scopeOf(caller), id);
    if (!row) throw notFound('user', id);
    return { user: toUser(caller, row) };
  }

  async getOrCreate(caller: BotCaller, input: GetOrCreateUser): Promise<GottenOrCreatedUser> {
    const known = await this.idempotency.find<GottenOrCreatedUser>(caller, operations.getOrCreate, input);
    if (known) return known;
    const alias = await this.aliasFor(caller, input.integrationName);
    const scope = { botId: caller.bot.id, alias };
    const tags = storedNames(caller, discriminatingTags(input));
    const isIdentified = Object.keys(tags).length > 0;
    // With an idempotency key the result is stored, so this shortcut does not apply.
    const found =
      isIdentified && caller.idempotencyKey === undefined && (await this.users.findOldestUserByTags(scope, tags));
    if (found) return { user: toUser(caller, found), meta: { created: false } };
    return this.idempotency.run(caller, operations.getOrCreate, input, async (tx) => {
      const { row, created } = await this.getOrCreateIn(tx, caller, alias, input);
      return { user: toUser(caller, row), meta: { created } };
    });
  }

  /** Holds a lock on the identifying tags until the end of the transaction. `alias` as of `aliasFor`. */
  async getOrCreateIn(
    tx: Transaction,
    caller: BotCaller,
    alias: string | null,
    input: GetOrCreateUser,
  ): Promise<{ row: UserEntity; created: boolean }> {
    const scope = { botId: caller.bot.id, alias };
    const tags = storedNames(caller, discriminatingTags(input));
    const isIdentified = Object.keys(tags).length > 0;
    if (isIdentified) await lockTags(tx, ['user', scope.botId, alias], tags);
    const other = isIdentified && (await this.users.findOldestUserByTags(scope, tags, tx));
    return { row: other || (await this.insert(tx, caller, alias, input)), created: !other };
  }

  async list(caller: BotCaller, query: ListUsers): Promise<Users> {
    const tags = query.tags && storedNames(caller, query.tags);
    const { rows, nextToken } = await this.users.listUsers(scopeOf(caller), { ...query, tags });
    return { users: rows.map((row) => toUser(caller, row)), meta: { nextToken } };
  }

  async update(caller: BotCaller, { id, ...changes }: UpdateUser): Promise<UserReply> {
    return this.database.transaction(async (tx) => {
      const before = await this.users.lockUser(tx, scopeOf(caller), id);
      if (!before) throw notFound('user', id);
      const after = await this.users.updateUser(tx, changed(before, caller, changes));
      await this.tags.replaceTags(tx, 'user', after, before.tags, after.tags);
      return { user: toUser(caller, after) };
    });
  }

  async delete(caller: BotCaller, { id }: UserId): Promise<object> {
    if (id === caller.bot.id)
      throw new ApiError(
        'ReferenceConstraint',
        `Cannot delete user "${id}": it is the bot itself and is deleted with the bot.`,
      );
    return this.database.transaction(async (tx) => {
      // Lock order, as in message writers: conversations first, then users.
      await this.signals.addParticipantRemoved(tx, caller.bot.id, id);
      const row = await this.users.lockUserToDelete(tx, scopeOf(caller), id);
      if (!row) throw notFound('user', id);
      await this.users.deleteUser(tx, row);
      await this.outbox.add(tx, subjectErased, { botId: row.bot_id, userId: row.id });
      await this.tags.removeTags(tx, 'user', row, row.tags);
      return {};
    });
  }

  async exists({ botId, userId }: UserOfBot): Promise<Existence> {
    return { exists: await this.users.userExists(botId, userId) };
  }

  private insert(
    sql: Sql,
    caller: BotCaller,
    alias: string | null,
    { tags, properties, attributes, name, pictureUrl }: GetOrCreateUser,
  ): Promise<UserEntity> {
    return this.users.insertUser(
      {
        bot_id: caller.bot.id,
        integration_alias: alias,
        name: name ?? null,
        picture_url: pictureUrl ?? null,
        tags: mergedTags({}, storedNames(caller, tags), maxTags),
        properties: mergedProperties({}, { ...attributes, ...properties }, maxProperties),
        foreign_id: null,
        profile: null,
      },
      sql,
    );
  }

  /** Alias of the installation that a new user belongs to. Throws ReferenceNotFound if it is not installed. */
  async aliasFor(caller: BotCaller, integrationName: string | undefined): Promise<string | null> {
    if (integrationName === undefined) return aliasOf(caller);
    const own = aliasOf(caller);
    const named = await this.botDefinitions.find(caller.bot.id, (bot) => namedInstallation(bot, integrationName, own));
    if (!named || (own !== null && named.alias !== own))
      throw new ApiError(
        'ReferenceNotFound',
        `integrationName "${integrationName}" not found: no such integration is installed in this bot.`,
      );
    return named.alias;
  }
}

function changed(row: UserEntity, caller: BotCaller, changes: Omit<UpdateUser, 'id'>): UserEntity {
  const { name, pictureUrl, tags, properties, attributes } = changes;
  return {
    ...row,
    name: name === undefined ? row.name : name,
    picture_url: pictureUrl === undefined ? row.picture_url : pictureUrl,
    tags: tags ? mergedTags(row.tags, storedNames(caller, tags), maxTags) : row.tags,
    properties: mergedProperties(row.properties, { ...attributes, ...properties }, maxProperties),
  };
}
