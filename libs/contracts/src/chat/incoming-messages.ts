import { IsIn, IsString, Length } from 'class-validator';
import { bot } from '../access';
import { JsonObject, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { DiscriminatingTags, IsChatId, TagChanges } from './chat-fields';
import { maxPayloadBytes } from './chat-payload';
import { Conversation, GetOrCreateConversation } from './conversations';
import { maxTypeLength, Message } from './messages';
import { GetOrCreateUser, User } from './users';

/** Tags that are `null` or empty are ignored. */
export class IncomingMessage {
  @JsonObject({ maxBytes: maxPayloadBytes }) payload!: Record<string, unknown>;
  @IsString() @Length(1, maxTypeLength) type!: string;
  @TagChanges() tags!: Record<string, string | null>;
  @Optional() @IsIn(['synthetic']) origin?: 'synthetic';

  /** Names of the tags that identify the message; all given tags by default. */
  @DiscriminatingTags() discriminateByTags?: string[];
}

export class InitializeIncomingMessage {
  /** Author. Takes precedence over `user`; one of them is required. */
  @Optional() @IsChatId() userId?: string;

  /** Author, found by tags or created. */
  @Optional() @Nested(GetOrCreateUser) user?: GetOrCreateUser;

  /** Takes precedence over `conversation`; one of them is required. */
  @Optional() @IsChatId() conversationId?: string;

  /** Found by tags or created. */
  @Optional() @Nested(GetOrCreateConversation) conversation?: GetOrCreateConversation;

  /** Found by tags in the conversation, or written. */
  @Optional() @Nested(IncomingMessage) message?: IncomingMessage;
}

export class InitializedIncomingMessage {
  @Nested(User) user!: User;
  @Nested(Conversation) conversation!: Conversation;
  @Optional() @Nested(Message) message?: Message;
}

export const incomingMessages = {
  initialize: operation({
    subject: 'chat.incomingMessages.initialize',
    route: 'POST /v1/chat/initialize-incoming-message',
    summary: 'Gets or creates a user, a conversation and a message by their tags, all or none.',
    access: bot.writeAlsoByIntegration,
    input: InitializeIncomingMessage,
    output: InitializedIncomingMessage,
    isIdempotent: true,
  }),
};
