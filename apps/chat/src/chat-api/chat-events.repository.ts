import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import {
  type ConversationLookupRow,
  findWithAuthor,
  idOrNone,
  type MessageLookup,
  type StoredMessage,
  toMessageLookup,
} from './lookup-sql';
import type { ChatPrincipal } from './viewer';

@Injectable()
export class ChatEventsRepository {
  constructor(private readonly database: Database) {}

  async findChatEvent(
    { installation: { botId, alias }, claim }: ChatPrincipal,
    id: string,
    type: string,
  ): Promise<MessageLookup> {
    const [row] = await this.database.query<ConversationLookupRow & StoredMessage>(
      findWithAuthor('event', 'stored.type = $5'),
      [botId, alias, idOrNone(claim), idOrNone(id), type],
    );
    return toMessageLookup(botId, row!);
  }
}
