import { Injectable } from '@nestjs/common';
import { MergedCalls } from '@parley/background/merged-calls';
import { Database } from '@parley/persistence/database';
import type { UserEntity } from '../users/user.entity';
import type { ChatInstallation } from './chat-installations.cache';
import {
  type ConversationLookupRow,
  conversationNamed,
  idOrNone,
  lookupColumns,
  toConversationLookup,
  userNamed,
} from './lookup-sql';
import type { ChatPrincipal, ConversationLookup } from './viewer';

const maxLookupsTogether = 100;

interface AskedConversation {
  claim: string;
  name: string;
}

@Injectable()
export class ViewerLookupsRepository {
  private readonly lookups = new MergedCalls(
    (key, asked: AskedConversation[]) => this.findChatConversations(key, asked),
    maxLookupsTogether,
  );

  constructor(private readonly database: Database) {}

  async findChatUser({ botId, alias }: ChatInstallation, name: string): Promise<UserEntity | undefined> {
    const [row] = await this.database.query<UserEntity>(`SELECT * FROM ${userNamed('$3')} found`, [
      botId,
      alias,
      idOrNone(name),
    ]);
    return row;
  }

  /** Concurrent lookups for one bot share a statement, so that the users of a bot do not take all connections. */
  findChatConversation({ installation, claim }: ChatPrincipal, name: string): Promise<ConversationLookup> {
    const { botId, alias } = installation;
    return this.lookups.call(JSON.stringify([botId, alias]), { claim: idOrNone(claim), name: idOrNone(name) });
  }

  /** Indexes: those of `byForeignOrPlatformId`, and the primary key of participants. */
  private async findChatConversations(key: string, asked: AskedConversation[]): Promise<ConversationLookup[]> {
    const [botId, alias] = JSON.parse(key) as [string, string];
    const rows = await this.database.query<ConversationLookupRow>(
      `SELECT ${lookupColumns}
       FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS asked (claim, name, ordinal)
       LEFT JOIN LATERAL ${userNamed('asked.claim')} viewer ON true
       LEFT JOIN LATERAL ${conversationNamed('asked.name')} c ON true
       ORDER BY ordinal`,
      [botId, alias, asked.map(({ claim }) => claim), asked.map(({ name }) => name)],
      'find_chat_conversations',
    );
    return rows.map((row) => toConversationLookup(botId, row));
  }
}
