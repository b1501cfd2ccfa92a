import { IsBoolean, IsIn, IsString } from 'class-validator';
import { service } from '../access';
import { ListOf, Nested, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { Conversation } from './conversations';
import { Message } from './messages';
import { User } from './users';

export const changeOperations = ['message_updated', 'conversation_updated'] as const;
/** Opt-in operations of integrations (`extraOperations`) that tell them of a change. */
export type ChangeOperation = (typeof changeOperations)[number];

/** Message of the bot, or change of a message or conversation. */
export class OutgoingMessage {
  /** Id of the message or change. */
  @IsString() id!: string;

  /** Absent for a message. */
  @Optional() @IsIn(changeOperations) change?: ChangeOperation;

  @IsString() conversationId!: string;

  /** True if the integration wrote the message itself: it is not delivered, but keeps its place in the order. */
  @Optional() @IsBoolean() isOwn?: boolean;
}

/** Messages of the bot and changes in conversations of integrations, in the order of each conversation. */
export class MessagesOutgoing {
  @IsString() botId!: string;
  @ListOf(OutgoingMessage) messages!: OutgoingMessage[];
}

export const messagesOutgoing = event({ subject: 'chat.messagesOutgoing', data: MessagesOutgoing });

/** One at a time: messages of a conversation are queued in the order of their announcements. */
export const deliverMessages = consumer({ name: 'runtime.deliverMessages', event: messagesOutgoing });

export class GetOutgoingMessage {
  @IsString() botId!: string;

  /** Id of the message or change. */
  @IsString() id!: string;

  /** Absent for a message. */
  @Optional() @IsIn(changeOperations) change?: ChangeOperation;
}

/**
 * Parts of a message or change as its integration sees them: tags have bare names. Absent when one of them was deleted.
 * A changed message or conversation is shown as it was right before and after the change.
 */
export class OutgoingMessageReply {
  /** Alias of the installation. */
  @Optional() @IsString() alias?: string;

  @Optional() @Nested(Message) message?: Message;
  @Optional() @Nested(Message) previousMessage?: Message;
  @Optional() @Nested(Conversation) conversation?: Conversation;
  @Optional() @Nested(Conversation) previousConversation?: Conversation;

  /** Author. */
  @Optional() @Nested(User) user?: User;

  /** Whether the conversation is one of the native chat. */
  @Optional() @IsBoolean() isChat?: boolean;

  /** Ids of the messages and changes that came before this one in its conversation, in the last minute. At most 20. */
  @Optional() @IsString({ each: true }) earlier?: string[];
}

export const outgoingMessages = {
  get: operation({
    subject: 'chat.outgoingMessages.get',
    summary:
      'Gets a message of the bot with its conversation and author, or a change, for its delivery to the integration.',
    access: service,
    input: GetOutgoingMessage,
    output: OutgoingMessageReply,
  }),
};
