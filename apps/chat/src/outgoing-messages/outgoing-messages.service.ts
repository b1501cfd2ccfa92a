import { Injectable } from '@nestjs/common';
import type { GetOutgoingMessage, OutgoingMessageReply } from '@parley/contracts/chat/outgoing-messages';
import { toConversation } from '../conversations/conversation.entity';
import { toMessage } from '../messages/message.entity';
import { toUser } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { OutgoingMessagesRepository } from './outgoing-messages.repository';

@Injectable()
export class OutgoingMessagesService {
  constructor(
    private readonly messages: OutgoingMessagesRepository,
    private readonly users: UsersRepository,
  ) {}

  async get({ botId, messageId }: GetOutgoingMessage): Promise<OutgoingMessageReply> {
    const found = await this.messages.findMessage(botId, messageId);
    if (!found) return {};
    const { message, conversation } = found;
    const { integration_alias: alias, integration_id: id, is_chat: isChat } = conversation;
    const user = await this.users.findUserById({ botId, alias: null }, message.user_id);
    if (!user) return {};
    const earlier = await this.messages.findEarlierOutgoing(message);
    // Names of tags as the integration knows them.
    const viewer = { integration: { id, alias } };
    return {
      alias,
      isChat,
      message: toMessage(viewer, message),
      conversation: toConversation(viewer, conversation),
      user: toUser(viewer, user),
      earlier: earlier.length > 0 ? earlier : undefined,
    };
  }
}
