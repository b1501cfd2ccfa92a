import { Injectable } from '@nestjs/common';
import type { Conversation } from '@parley/contracts/chat/conversations';
import type { Message } from '@parley/contracts/chat/messages';
import type { GetOutgoingMessage, OutgoingMessageReply } from '@parley/contracts/chat/outgoing-messages';
import { type ConversationWithCount, toConversation } from '../conversations/conversation.entity';
import { toMessage } from '../messages/message.entity';
import { OutgoingChangesRepository } from '../announcements/outgoing-changes.repository';
import { toUser } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { type FoundMessage, type Outgoing, OutgoingMessagesRepository } from './outgoing-messages.repository';

@Injectable()
export class OutgoingMessagesService {
  constructor(
    private readonly messages: OutgoingMessagesRepository,
    private readonly changes: OutgoingChangesRepository,
    private readonly users: UsersRepository,
  ) {}

  async get({ botId, id, change }: GetOutgoingMessage): Promise<OutgoingMessageReply> {
    if (change) return this.getChange(botId, id);
    const found = await this.messages.findMessage(botId, id);
    return found ? this.toReply(found, found.message) : {};
  }

  private async getChange(botId: string, id: string): Promise<OutgoingMessageReply> {
    const change = await this.changes.findChange(botId, id);
    if (!change) return {};
    if (change.message_id === null) {
      const conversation = await this.messages.findConversation(botId, change.conversation_id);
      if (!conversation) return {};
      return {
        ...(await this.toPlace(conversation, change)),
        conversation: change.current as Conversation,
        previousConversation: change.previous as Conversation,
      };
    }
    const found = await this.messages.findMessage(botId, change.message_id);
    if (!found) return {};
    return {
      ...(await this.toReply(found, change)),
      message: change.current as Message,
      previousMessage: change.previous as Message,
    };
  }

  /** Names of tags are those that the integration knows. */
  private async toReply({ message, conversation }: FoundMessage, place: Outgoing): Promise<OutgoingMessageReply> {
    const { integration_alias: alias, integration_id: id } = conversation;
    const user = await this.users.findUserById({ botId: message.bot_id, alias: null }, message.user_id);
    if (!user) return {};
    const viewer = { integration: { id, alias } };
    return {
      ...(await this.toPlace(conversation, place)),
      message: toMessage(viewer, message),
      conversation: toConversation(viewer, conversation),
      user: toUser(viewer, user),
    };
  }

  private async toPlace(
    { integration_alias: alias, is_chat: isChat }: ConversationWithCount,
    place: Outgoing,
  ): Promise<OutgoingMessageReply> {
    const earlier = await this.messages.findEarlierOutgoing(place);
    return { alias, isChat, earlier: earlier.length > 0 ? earlier : undefined };
  }
}
