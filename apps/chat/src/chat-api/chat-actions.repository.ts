import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { ChatActionTarget } from '@parley/contracts/chat/chat-actions';
import { Repository } from 'typeorm';
import { ConversationEntity } from '../conversations/conversation.entity';

@Injectable()
export class ChatActionsRepository {
  constructor(@InjectRepository(ConversationEntity) private readonly conversations: Repository<ConversationEntity>) {}

  /** Conversation of this chat installation. Primary key. */
  async findConversation({
    botId,
    alias,
    conversationId,
  }: ChatActionTarget): Promise<Pick<ConversationEntity, 'id' | 'foreign_id'> | undefined> {
    const found = await this.conversations.findOne({
      where: { bot_id: botId, id: conversationId, integration_alias: alias, is_chat: true },
      select: { id: true, foreign_id: true },
    });
    return found ?? undefined;
  }
}
