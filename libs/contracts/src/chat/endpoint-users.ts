import { IsString, MaxLength } from 'class-validator';
import { chatUser, chatVisitor } from '../access';
import { IsUri, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';
import { IsForeignId } from './foreign-id';

/** Where every request of a bot's chat endpoint goes. */
export class ChatEndpoint {
  /** Webhook id of the chat integration of the bot. */
  @PathParam()
  webhookId!: string;
}

export class ChatUser {
  /** The foreign id where there is one. */
  @IsString()
  id!: string;

  @Optional()
  @IsString()
  name?: string;

  @Optional()
  @IsString()
  pictureUrl?: string;

  @Optional()
  @IsString()
  profile?: string;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;
}

/** What is left out stays as it is. */
export class ChatUserFields extends ChatEndpoint {
  @Optional()
  @IsString()
  @MaxLength(200)
  name?: string;

  @Optional()
  @IsUri()
  @MaxLength(40_000)
  pictureUrl?: string;

  /** Anything that the application wants to tell of the user. The bot sees it, as a tag, when it has up to 500 characters. */
  @Optional()
  @IsString()
  @MaxLength(1000)
  profile?: string;
}

export class CreateChatUser extends ChatUserFields {
  /** A foreign id: the user keeps it in every answer. */
  @Optional()
  @IsForeignId()
  id?: string;
}

export class ChatUserReply {
  @Nested(ChatUser)
  user!: ChatUser;
}

export class CreatedChatUser extends ChatUserReply {
  /** What the user shows in the header `x-user-key`. */
  @IsString()
  key!: string;
}

export const endpointUsers = {
  createUser: operation({
    subject: 'chat.endpoint.createUser',
    route: 'POST /chat/{webhookId}/users',
    summary: 'Creates a user and its key. Refused where the bot has an encryption key of its own.',
    access: chatVisitor,
    input: CreateChatUser,
    output: CreatedChatUser,
    status: 201,
  }),
  getOrCreateUser: operation({
    subject: 'chat.endpoint.getOrCreateUser',
    route: 'POST /chat/{webhookId}/users/get-or-create',
    summary: 'Gets the user of the key, with the given fields changed, or creates it with the id that the key names.',
    access: chatUser,
    input: ChatUserFields,
    output: ChatUserReply,
    status: 201,
  }),
  getUser: operation({
    subject: 'chat.endpoint.getUser',
    route: 'GET /chat/{webhookId}/users/me',
    summary: 'Gets the user of the key.',
    access: chatUser,
    input: ChatEndpoint,
    output: ChatUserReply,
  }),
  updateUser: operation({
    subject: 'chat.endpoint.updateUser',
    route: 'PUT /chat/{webhookId}/users/me',
    summary: 'Updates the user of the key.',
    access: chatUser,
    input: ChatUserFields,
    output: ChatUserReply,
  }),
  deleteUser: operation({
    subject: 'chat.endpoint.deleteUser',
    route: 'DELETE /chat/{webhookId}/users/me',
    summary: 'Deletes the user of the key. Its foreign id is free again, its messages stay.',
    access: chatUser,
    input: ChatEndpoint,
    output: Empty,
  }),
};
