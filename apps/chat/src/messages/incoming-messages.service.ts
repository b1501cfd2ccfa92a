import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import {
  type IncomingMessage,
  incomingMessages as operations,
  type InitializedIncomingMessage,
  type InitializeIncomingMessage,
} from '@parley/contracts/chat/incoming-messages';
import { ApiError } from '@parley/contracts/errors';
import type { Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { scopeOf } from '../queries/scope';
import { type ConversationWithCount, toConversation } from '../conversations/conversation.entity';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { ConversationsService } from '../conversations/conversations.service';
import { toMessage } from './message.entity';
import { MessagesService } from './messages.service';
import { toUser, type UserEntity } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { UsersService } from '../users/users.service';

/** Gets an object by id, or gets or creates it, in the transaction. */
type Step<Row> = (tx: Transaction) => Promise<Row>;

@Injectable()
export class IncomingMessagesService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly userRows: UsersRepository,
    private readonly users: UsersService,
    private readonly conversationRows: ConversationsRepository,
    private readonly conversations: ConversationsService,
    private readonly messages: MessagesService,
  ) {}

  /**
   * Idempotent by the identifying tags. Lock order: tags of the user, of the conversation, of the message, then the
   * conversation.
   */
  async initialize(caller: BotCaller, input: InitializeIncomingMessage): Promise<InitializedIncomingMessage> {
    const known = await this.idempotency.find<InitializedIncomingMessage>(caller, operations.initialize, input);
    if (known) return known;
    const [getUser, getConversation] = await Promise.all([
      this.userOf(caller, input),
      this.conversationOf(caller, input),
    ]);
    return this.idempotency.run(caller, operations.initialize, input, async (tx) => {
      const user = await getUser(tx);
      const conversation = await getConversation(tx);
      const reply = { user: toUser(caller, user), conversation: toConversation(caller, conversation) };
      if (!input.message) return reply;
      const { row, created } = await this.messageOf(tx, caller, { user, conversation }, input.message);
      const after = created ? await this.requireConversation(tx, caller, conversation.id) : conversation;
      return { ...reply, conversation: toConversation(caller, after), message: toMessage(caller, row) };
    });
  }

  private async userOf(caller: BotCaller, { userId, user }: InitializeIncomingMessage): Promise<Step<UserEntity>> {
    if (userId !== undefined)
      return async (tx) => {
        const row = await this.userRows.findUserById(scopeOf(caller), userId, tx);
        if (!row) throw new ApiError('ReferenceNotFound', `userId "${userId}" not found.`);
        return row;
      };
    if (!user) throw new ApiError('InvalidPayload', 'The author is missing: give userId, or user with its tags.');
    const alias = await this.users.aliasFor(caller, user.integrationName);
    return async (tx) => (await this.users.getOrCreateIn(tx, caller, alias, user)).row;
  }

  private async conversationOf(
    caller: BotCaller,
    { conversationId, conversation }: InitializeIncomingMessage,
  ): Promise<Step<ConversationWithCount>> {
    if (conversationId !== undefined) return (tx) => this.requireConversation(tx, caller, conversationId);
    if (!conversation)
      throw new ApiError(
        'InvalidPayload',
        'The conversation is missing: give conversationId, or conversation with its channel and tags.',
      );
    const installation = await this.conversations.installationFor(caller, conversation);
    return async (tx) => (await this.conversations.getOrCreateIn(tx, caller, installation, conversation)).row;
  }

  private async requireConversation(tx: Transaction, caller: BotCaller, id: string): Promise<ConversationWithCount> {
    const row = await this.conversationRows.findConversationById(scopeOf(caller), id, tx);
    if (!row) throw new ApiError('ReferenceNotFound', `conversationId "${id}" not found.`);
    return row;
  }

  private messageOf(
    tx: Transaction,
    caller: BotCaller,
    { user, conversation }: { user: UserEntity; conversation: ConversationWithCount },
    message: IncomingMessage,
  ) {
    return this.messages.getOrCreateIn(tx, caller, { ...message, userId: user.id, conversationId: conversation.id });
  }
}
