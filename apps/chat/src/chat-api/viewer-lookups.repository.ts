import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { UserEntity } from '../users/user.entity';
import type { ChatInstallation } from './chat-installations.cache';
import {
  type ConversationLookupRow,
  conversationNamed,
  idOrNone,
  lookupColumns,
  lookupFrom,
  toConversationLookup,
  userNamed,
} from './lookup-sql';
import type { ChatPrincipal, ConversationLookup } from './viewer';

@Injectable()
export class ViewerLookupsRepository {
  constructor(private readonly database: Database) {}

  async findChatUser({ botId, alias }: ChatInstallation, name: string): Promise<UserEntity | undefined> {
    const [row] = await this.database.query<UserEntity>(`SELECT * FROM ${userNamed('$3')} found`, [
      botId,
      alias,
      idOrNone(name),
    ]);
    return row;
  }

  async findChatConversation(
    { installation: { botId, alias }, claim }: ChatPrincipal,
    name: string,
  ): Promise<ConversationLookup> {
    const [row] = await this.database.query<ConversationLookupRow>(
      `SELECT ${lookupColumns} FROM ${lookupFrom(`LEFT JOIN ${conversationNamed('$4')} c ON true`)}`,
      [botId, alias, idOrNone(claim), idOrNone(name)],
      'find_chat_conversation',
    );
    return toConversationLookup(botId, row!);
  }
}
