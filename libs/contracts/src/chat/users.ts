import { IsBoolean, IsString, MaxLength } from 'class-validator';
import { bot, service } from '../access';
import { Deprecated, IsUri, ListOf, Nested, Nullable, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta } from '../paging';
import { PathParam, QueryString } from '../query-fields';
import {
  DiscriminatingTags,
  Properties,
  PropertyChanges,
  QueryTimeField,
  SortedPageQuery,
  TagChanges,
  ShownTags,
  Tags,
  type TimeField,
} from './chat-fields';

export class User {
  @IsString() id!: string;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;

  /** Tags by name. The bot sees tags of its integrations as `alias:tag`; an integration sees only its own. */
  @ShownTags() tags!: Record<string, string>;

  @Optional() @IsString() name?: string;
  @Optional() @IsString() pictureUrl?: string;

  /** Shared between the bot and its integrations. */
  @Properties() properties!: Record<string, string>;

  /** Deprecated alias of `properties`. */
  @Deprecated() @Properties() attributes!: Record<string, string>;
}

export class CreateUser {
  @Tags() tags!: Record<string, string>;

  /** Deprecated: alias or name of the integration that owns the user. */
  @Deprecated() @Optional() @IsString() @MaxLength(200) integrationName?: string;

  @Optional() @IsString() @MaxLength(200) name?: string;
  @Optional() @IsUri() @MaxLength(40_000) pictureUrl?: string;
  @Optional() @Properties() properties?: Record<string, string>;

  /** Deprecated: use `properties`, which takes precedence. */
  @Deprecated() @Optional() @Properties() attributes?: Record<string, string>;
}

/** Tags and properties that are `null` or empty are ignored. */
export class GetOrCreateUser {
  @TagChanges() tags!: Record<string, string | null>;

  /** Deprecated: alias or name of the integration that owns the user. */
  @Deprecated() @Optional() @IsString() @MaxLength(200) integrationName?: string;

  @Optional() @IsString() @MaxLength(200) name?: string;
  @Optional() @IsUri() @MaxLength(40_000) pictureUrl?: string;
  @Optional() @PropertyChanges() properties?: Record<string, string | null>;

  /** Deprecated: use `properties`, which takes precedence. */
  @Deprecated() @Optional() @PropertyChanges() attributes?: Record<string, string | null>;

  /** Names of the tags that identify the user; all given tags by default. */
  @DiscriminatingTags() discriminateByTags?: string[];
}

export class UpdateUser {
  @PathParam() id!: string;
  @Optional() @TagChanges() tags?: Record<string, string | null>;
  @Nullable() @IsString() @MaxLength(200) name?: string | null;
  @Nullable() @IsUri() @MaxLength(40_000) pictureUrl?: string | null;
  @Optional() @PropertyChanges() properties?: Record<string, string | null>;

  /** Deprecated: use `properties`, which takes precedence. */
  @Deprecated() @Optional() @PropertyChanges() attributes?: Record<string, string | null>;
}

export class UserId {
  @PathParam() id!: string;
}

export class ListUsers extends SortedPageQuery {
  /** Filter: participants of this conversation. */
  @QueryString() conversationId?: string;

  /** Field that `afterDate` and `beforeDate` compare; `createdAt` by default. */
  @QueryTimeField() rangeField?: TimeField;
}

export class UserReply {
  @Nested(User) user!: User;
}

export class CreatedMeta {
  @IsBoolean() created!: boolean;
}

export class GottenOrCreatedUser extends UserReply {
  @Nested(CreatedMeta) meta!: CreatedMeta;
}

export class Users {
  @ListOf(User) users!: User[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class UserOfBot {
  @IsString() botId!: string;
  @IsString() userId!: string;
}

export class Existence {
  @IsBoolean() exists!: boolean;
}

export const users = {
  create: operation({
    subject: 'chat.users.create',
    route: 'POST /v1/chat/users',
    summary: 'Creates a user of the bot.',
    access: bot.writeAlsoByIntegration,
    input: CreateUser,
    output: UserReply,
    status: 201,
    isIdempotent: true,
  }),
  get: operation({
    subject: 'chat.users.get',
    route: 'GET /v1/chat/users/{id}',
    summary: 'Gets a user.',
    access: bot.readAlsoByIntegration,
    input: UserId,
    output: UserReply,
  }),
  getOrCreate: operation({
    subject: 'chat.users.getOrCreate',
    route: 'POST /v1/chat/users/get-or-create',
    summary: 'Gets the user with these tags, or creates it. Concurrent requests for the same tags get the same user.',
    access: bot.writeAlsoByIntegration,
    input: GetOrCreateUser,
    output: GottenOrCreatedUser,
    isIdempotent: true,
  }),
  list: operation({
    subject: 'chat.users.list',
    route: 'GET /v1/chat/users',
    summary: 'Lists users, newest first unless sorted otherwise.',
    access: bot.readAlsoByIntegration,
    input: ListUsers,
    output: Users,
  }),
  update: operation({
    subject: 'chat.users.update',
    route: 'PUT /v1/chat/users/{id}',
    summary: 'Updates a user. Absent fields stay unchanged; tags and properties are merged.',
    access: bot.writeAlsoByIntegration,
    input: UpdateUser,
    output: UserReply,
  }),
  delete: operation({
    subject: 'chat.users.delete',
    route: 'DELETE /v1/chat/users/{id}',
    summary: 'Deletes a user with its states. Its messages are kept.',
    access: bot.writeAlsoByIntegration,
    input: UserId,
    output: Empty,
  }),
  exists: operation({
    subject: 'chat.users.exists',
    summary: 'Checks whether a user of the bot exists.',
    access: service,
    input: UserOfBot,
    output: Existence,
  }),
};
