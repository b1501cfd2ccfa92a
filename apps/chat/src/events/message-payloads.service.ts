import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { toConversation } from '../conversations/conversation.entity';
import { toMessage } from '../messages/message.entity';
import { toUser } from '../users/user.entity';
import type { EventEntity } from './event.entity';
import { MessagePayloadsRepository } from './message-payloads.repository';

type Payload = Record<string, unknown>;

/** Payloads of `message_created` events: the current message, user and conversation. */
@Injectable()
export class MessagePayloadsService {
  constructor(private readonly parts: MessagePayloadsRepository) {}

  /** Payloads by event id, for events without a stored payload. Deleted objects are undefined. */
  async payloadsOf(caller: BotCaller, events: EventEntity[]): Promise<Map<string, Payload>> {
    const rows = events.filter(({ payload }) => payload === null);
    if (rows.length === 0) return new Map();
    const { messages, users, conversations } = await this.parts.findPartsOfEvents(caller.bot.id, rows);
    return new Map(
      rows.map((row) => {
        const conversation = conversations.get(row.conversation_id!);
        const message = conversation && messages.get(row.message_id!);
        const user = users.get(row.user_id!);
        const payload = {
          message: message && toMessage(caller, message),
          user: user && toUser(caller, user),
          conversation: conversation && toConversation(caller, conversation),
        };
        return [row.id, payload];
      }),
    );
  }
}
