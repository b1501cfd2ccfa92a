import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import type {
  ChatApiRequest,
  ChatUserFields,
  ChatUserReply,
  CreateChatUser,
  CreatedChatUser,
} from '@parley/contracts/chat-api/users';
import { foreignId, foreignIdForm } from '@parley/contracts/chat/foreign-id';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { isUniqueViolation } from '@parley/persistence/errors';
import { TagsRepository } from '../tags/tags.repository';
import type { UserEntity } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { UsersService } from '../users/users.service';
import { asInstallation, type ChatInstallation, ChatInstallationsCache } from './chat-installations.cache';
import { idTaken, tagsOf, toChatUser } from './chat-objects';
import { ChatPrincipalsService } from './chat-principals.service';
import { UserKeysService } from './user-keys.service';
import { requireUser } from './viewer';
import { ChatApiRepository } from './chat-api.repository';

type Fields = Omit<ChatUserFields, 'webhookId'>;

const maxTries = 5;

@Injectable()
export class ChatUsersService {
  constructor(
    private readonly database: Database,
    private readonly installations: ChatInstallationsCache,
    private readonly principals: ChatPrincipalsService,
    private readonly keys: UserKeysService,
    private readonly repository: ChatApiRepository,
    private readonly users: UsersRepository,
    private readonly usersService: UsersService,
    private readonly tags: TagsRepository,
  ) {}

  /**
   * Creates a user and its key. A key contains the platform id, so it never becomes valid for a later user with the
   * same foreign id.
   */
  async create(_caller: Caller, { webhookId, id, ...fields }: CreateChatUser): Promise<CreatedChatUser> {
    const installation = await this.installations.get(webhookId, ({ encryptionKey }) => encryptionKey === undefined);
    if (installation.encryptionKey)
      throw new ApiError(
        'Unauthorized',
        'createUser is not available: this bot has its own encryption key. Sign a JWT (HS256, user id in the claim "id") with that key and call getOrCreateUser.',
      );
    const user = await this.insert(installation, id ?? null, fields);
    if (!user) throw idTaken(id!);
    return { user: toChatUser(user), key: await this.keys.sign(installation, user.id) };
  }

  /** Concurrent requests get the same user. */
  async getOrCreate(caller: ChatUserCaller, { webhookId, ...fields }: ChatUserFields): Promise<ChatUserReply> {
    const { installation, claim } = await this.principals.identify(caller, webhookId);
    for (let tries = 0; tries < maxTries; tries += 1) {
      const found = await this.repository.findChatUser(installation, claim);
      const user = found
        ? await this.change(installation, found, fields)
        : await this.insertNamed(installation, claim, fields);
      if (user) return { user: toChatUser(user) };
    }
    throw idTaken(claim);
  }

  async get(caller: ChatUserCaller, { webhookId }: ChatApiRequest): Promise<ChatUserReply> {
    const { installation, claim } = await this.principals.identify(caller, webhookId);
    return { user: toChatUser(requireUser(await this.repository.findChatUser(installation, claim))) };
  }

  async update(caller: ChatUserCaller, { webhookId, ...fields }: ChatUserFields): Promise<ChatUserReply> {
    const { installation, claim } = await this.principals.identify(caller, webhookId);
    const user = requireUser(await this.repository.findChatUser(installation, claim));
    return { user: toChatUser(requireUser(await this.change(installation, user, fields))) };
  }

  async delete(caller: ChatUserCaller, { webhookId }: ChatApiRequest): Promise<object> {
    const { installation, claim } = await this.principals.identify(caller, webhookId);
    const { id } = requireUser(await this.repository.findChatUser(installation, claim));
    return this.usersService.delete(asInstallation(caller, installation), { id });
  }

  private insertNamed(installation: ChatInstallation, claim: string, fields: Fields): Promise<UserEntity | undefined> {
    if (!foreignId.test(claim))
      throw new ApiError('InvalidPayload', `The claim "id" of the user key must be ${foreignIdForm}.`);
    return this.insert(installation, claim, fields);
  }

  /**
   * Undefined if the foreign id is taken, or equals the id of the bot or of another user: that would allow
   * impersonation.
   */
  private async insert(
    { botId, alias }: ChatInstallation,
    id: string | null,
    { name, pictureUrl, profile }: Fields,
  ): Promise<UserEntity | undefined> {
    if (id !== null && (id === botId || (await this.users.userExists(botId, id)))) return undefined;
    const user = {
      bot_id: botId,
      integration_alias: alias,
      name: name ?? null,
      picture_url: pictureUrl ?? null,
      tags: tagsOf(alias, { fid: id, profile: profile ?? null }),
      properties: {},
      foreign_id: id,
      profile: profile ?? null,
    };
    return this.users.insertUser(user).catch((error: unknown) => {
      if (isUniqueViolation(error)) return undefined;
      throw error;
    });
  }

  private async change(
    { botId, alias }: ChatInstallation,
    user: UserEntity,
    { name, pictureUrl, profile }: Fields,
  ): Promise<UserEntity | undefined> {
    if (name === undefined && pictureUrl === undefined && profile === undefined) return user;
    return this.database.transaction(async (tx) => {
      const before = await this.users.lockUser(tx, { botId, alias }, user.id);
      if (!before) return undefined;
      const { [`${alias}:profile`]: _profile, ...tags } = before.tags;
      const after = await this.users.updateUser(tx, {
        ...before,
        name: name ?? before.name,
        picture_url: pictureUrl ?? before.picture_url,
        profile: profile ?? before.profile,
        tags: profile === undefined ? before.tags : { ...tags, ...tagsOf(alias, { profile }) },
      });
      await this.tags.replaceTags(tx, 'user', after, before.tags, after.tags);
      return after;
    });
  }
}
