import { IsString, MaxLength } from 'class-validator';
import { chatUser, chatVisitor } from '../access';
import { IsUri, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';
import { IsForeignId } from '../chat/foreign-id';

export class ChatApiRequest {
  /** Webhook id of the bot's chat integration. */
  @PathParam() webhookId!: string;
}

export class ChatUser {
  /** Foreign id if there is one, otherwise the id of the platform. */
  @IsString() id!: string;

  @Optional() @IsString() name?: string;
  @Optional() @IsString() pictureUrl?: string;
  @Optional() @IsString() profile?: string;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
}

/** Absent fields stay unchanged. */
export class ChatUserFields extends ChatApiRequest {
  @Optional() @IsString() @MaxLength(200) name?: string;
  @Optional() @IsUri() @MaxLength(40_000) pictureUrl?: string;

  /** Any text about the user that the application provides. Up to 500 characters, the bot sees it as a tag. */
  @Optional() @IsString() @MaxLength(1000) profile?: string;
}

export class CreateChatUser extends ChatUserFields {
  /** Foreign id: the application's own id of the user, returned in place of the platform's. */
  @Optional() @IsForeignId() id?: string;
}

export class ChatUserReply {
  @Nested(ChatUser) user!: ChatUser;
}

export class CreatedChatUser extends ChatUserReply {
  /** User key, to be sent in the header `x-user-key`. */
  @IsString() key!: string;
}

export const chatApiUsers = {
  createUser: operation({
    subject: 'chat.endpoint.createUser',
    route: 'POST /chat/{webhookId}/users',
    summary: 'Creates a user and its user key. Rejected when the bot has its own encryption key configured.',
    access: chatVisitor,
    input: CreateChatUser,
    output: CreatedChatUser,
    status: 201,
  }),
  getOrCreateUser: operation({
    subject: 'chat.endpoint.getOrCreateUser',
    route: 'POST /chat/{webhookId}/users/get-or-create',
    summary: 'Gets the user of the user key and updates the given fields, or creates it with the id in the key.',
    access: chatUser,
    input: ChatUserFields,
    output: ChatUserReply,
    status: 201,
  }),
  getUser: operation({
    subject: 'chat.endpoint.getUser',
    route: 'GET /chat/{webhookId}/users/me',
    summary: 'Gets the user of the user key.',
    access: chatUser,
    input: ChatApiRequest,
    output: ChatUserReply,
  }),
  updateUser: operation({
    subject: 'chat.endpoint.updateUser',
    route: 'PUT /chat/{webhookId}/users/me',
    summary: 'Updates the user of the user key. Absent fields stay unchanged.',
    access: chatUser,
    input: ChatUserFields,
    output: ChatUserReply,
  }),
  deleteUser: operation({
    subject: 'chat.endpoint.deleteUser',
    route: 'DELETE /chat/{webhookId}/users/me',
    summary: 'Deletes the user of the user key. Its foreign id becomes available again; its messages are kept.',
    access: chatUser,
    input: ChatApiRequest,
    output: Empty,
  }),
};
