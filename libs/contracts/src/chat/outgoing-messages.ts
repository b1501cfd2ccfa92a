import { IsBoolean, IsString } from 'class-validator';
import { service } from '../access';
import { ListOf, Nested, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { Conversation } from './conversations';
import { Message } from './messages';
import { User } from './users';

export class OutgoingMessage {
  @IsString()
  id!: string;

  @IsString()
  conversationId!: string;

  /** True if the integration wrote the message itself: it is not delivered, but keeps its place in the order. */
  @Optional()
  @IsBoolean()
  isOwn?: boolean;
}

/** Messages of the bot in conversations of integrations, in the order of each conversation. */
export class MessagesOutgoing {
  @IsString()
  botId!: string;

  @ListOf(OutgoingMessage)
  messages!: OutgoingMessage[];
}

export const messagesOutgoing = event({ subject: 'chat.messagesOutgoing', data: MessagesOutgoing });

/** One at a time: messages of a conversation are queued in the order of their announcements. */
export const deliverMessages = consumer({ name: 'runtime.deliverMessages', event: messagesOutgoing });

export class GetOutgoingMessage {
  @IsString()
  botId!: string;

  @IsString()
  messageId!: string;
}

/** Parts of a message as its integration sees them: tags have bare names. Absent when one of them was deleted. */
export class OutgoingMessageReply {
  /** Alias of the installation. */
  @Optional()
  @IsString()
  alias?: string;

  @Optional()
  @Nested(Message)
  message?: Message;

  @Optional()
  @Nested(Conversation)
  conversation?: Conversation;

  /** Author. */
  @Optional()
  @Nested(User)
  user?: User;

  /** Whether the conversation is one of the native chat. */
  @Optional()
  @IsBoolean()
  isChat?: boolean;

  /** Ids of the messages of the bot that came before this one in its conversation, in the last minute. At most 20. */
  @Optional()
  @IsString({ each: true })
  earlier?: string[];
}

export const outgoingMessages = {
  get: operation({
    subject: 'chat.outgoingMessages.get',
    summary: 'Gets a message of the bot with its conversation and author, for its delivery to the integration.',
    access: service,
    input: GetOutgoingMessage,
    output: OutgoingMessageReply,
  }),
};
