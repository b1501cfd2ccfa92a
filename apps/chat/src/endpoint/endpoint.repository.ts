import { Injectable } from '@nestjs/common';
import { foreignId } from '@parley/contracts/chat/foreign-id';
import { Database } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import type { ConversationEntity } from '../conversations/conversation.entity';
import { newestFirst } from '../lists/newest-first';
import { isOf } from '../bot-definitions/scope';
import type { UserEntity } from '../users/user.entity';
import type { ChatInstallation } from './chat-installations';

/** Chat installation and the user id in the claim of the user key. */
export interface Asker {
  installation: ChatInstallation;
  claim: string;
}

type FoundUser = Pick<UserEntity, 'id' | 'foreign_id'>;
type FoundConversation = Pick<
  ConversationEntity,
  'bot_id' | 'id' | 'foreign_id' | 'owner_id' | 'is_chat' | 'created_at' | 'updated_at'
>;

/** Calling user and requested conversation; null if not found. */
export interface Place {
  me: FoundUser | null;
  conversation: FoundConversation | null;
  isParticipant: boolean;
}

/** Message or custom event with its author. */
export interface Said {
  id: string;
  type: string;
  payload: Record<string, unknown>;
  created_at: Date;
  user_id: string;
  user_foreign_id: string | null;
}

export type SaidHere = Place & { said: Said | null };

interface PlaceRow {
  me_id: string | null;
  me_foreign_id: string | null;
  conversation_id: string | null;
  conversation_foreign_id: string | null;
  owner_id: string | null;
  conversation_created_at: Date;
  conversation_updated_at: Date;
  is_participant: boolean;
}

/**
 * Lookup by foreign id, then by platform id only if the first finds nothing. Unique indexes on foreign_id, primary
 * keys.
 */
const named = (table: string, scope: string, parameter: string) => `(
  SELECT * FROM ${table} WHERE bot_id = $1 AND ${scope} AND foreign_id = ${parameter}
  UNION ALL SELECT * FROM ${table} WHERE bot_id = $1 AND ${scope} AND id = ${parameter}
  LIMIT 1)`;
const userNamed = (parameter: string) => named('"user"', isOf('$2'), parameter);
const conversationNamed = (parameter: string) => named('conversation', `${isOf('$2')} AND is_chat`, parameter);

/** `is_participant` is a subquery: as a join, Postgres was seen to read all participants of the conversation. */
const placeColumns = `me.id AS me_id, me.foreign_id AS me_foreign_id, c.id AS conversation_id,
  c.foreign_id AS conversation_foreign_id, c.owner_id, c.created_at AS conversation_created_at,
  c.updated_at AS conversation_updated_at, EXISTS (
    SELECT FROM participant p WHERE p.bot_id = $1 AND p.conversation_id = c.id AND p.user_id = me.id) AS is_participant`;
const placeOf = (conversation: string) => `(SELECT) one LEFT JOIN ${userNamed('$3')} me ON true ${conversation}`;

const saidIn = (table: string, condition: string) => `
  SELECT ${placeColumns}, said.id, said.type, said.payload, said.created_at, said.user_id,
    author.foreign_id AS user_foreign_id
  FROM ${placeOf(`
    LEFT JOIN (
      ${table} said JOIN conversation c
        ON c.bot_id = $1 AND c.id = said.conversation_id AND ${isOf('$2', 'c')} AND c.is_chat
    ) ON said.bot_id = $1 AND said.id = $4 AND ${condition}`)}
  LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = said.user_id`;

const newestConversations = newestFirst<ConversationEntity>('created_at', 'id', { sql: 'owner_id', value: '$3' });
const newestMessages = newestFirst<Said>('m.created_at', 'm.id', { sql: 'm.conversation_id', value: '$2' });
const newestParticipants = new Keyset<UserEntity & { joined_at: Date }>([
  { sql: 'p.joined_at', type: 'timestamptz', of: (row) => row.joined_at },
  { sql: 'p.user_id', type: 'text', of: (row) => row.id },
]);
const limit = pageSize({});

@Injectable()
export class EndpointRepository {
  constructor(private readonly database: Database) {}

  async findUser({ botId, alias }: ChatInstallation, name: string): Promise<UserEntity | undefined> {
    const [row] = await this.database.query<UserEntity>(`SELECT * FROM ${userNamed('$3')} found`, [
      botId,
      alias,
      possibleId(name),
    ]);
    return row;
  }

  async findPlace({ installation: { botId, alias }, claim }: Asker, conversation: string): Promise<Place> {
    const [row] = await this.database.query<PlaceRow>(
      `SELECT ${placeColumns} FROM ${placeOf(`LEFT JOIN ${conversationNamed('$4')} c ON true`)}`,
      [botId, alias, possibleId(claim), possibleId(conversation)],
      'find_place',
    );
    return toPlace(botId, row!);
  }

  async findMessage({ installation: { botId, alias }, claim }: Asker, id: string): Promise<SaidHere> {
    const values = [botId, alias, possibleId(claim), possibleId(id)];
    const [row] = await this.database.query<PlaceRow & Said>(saidIn('message', 'true'), values);
    return { ...toPlace(botId, row!), said: row!.id ? row! : null };
  }

  async findEvent({ installation: { botId, alias }, claim }: Asker, id: string, type: string): Promise<SaidHere> {
    const values = [botId, alias, possibleId(claim), possibleId(id), type];
    const [row] = await this.database.query<PlaceRow & Said>(saidIn('event', 'said.type = $5'), values);
    return { ...toPlace(botId, row!), said: row!.id ? row! : null };
  }

  /** Participants include users of other integrations. */
  async findParticipant(botId: string, conversationId: string, name: string): Promise<UserEntity | undefined> {
    const [row] = await this.database.query<UserEntity>(
      `SELECT u.* FROM ${named('"user"', 'true', '$3')} u
       JOIN participant p ON p.bot_id = $1 AND p.conversation_id = $2 AND p.user_id = u.id`,
      [botId, conversationId, possibleId(name)],
    );
    return row;
  }

  /** Index conversation_owner. */
  async listOwned({ botId, alias }: ChatInstallation, ownerId: string, nextToken?: string) {
    const boundTo = [botId, alias, ownerId];
    const values: unknown[] = [botId, alias, ownerId];
    const rows = await this.database.query<ConversationEntity>(
      `SELECT * FROM conversation
       WHERE bot_id = $1 AND integration_alias = $2 AND is_chat
         AND ${newestConversations.after(nextToken, boundTo, values)}
       ORDER BY ${newestConversations.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestConversations.page(rows, limit, boundTo);
  }

  /** Index message_of_conversation, then the primary key of each author. */
  async listMessages(botId: string, conversationId: string, nextToken?: string) {
    const boundTo = ['messages', botId, conversationId];
    const values: unknown[] = [botId, conversationId];
    const rows = await this.database.query<Said>(
      `SELECT m.id, m.type, m.payload, m.created_at, m.user_id, author.foreign_id AS user_foreign_id
       FROM message m LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = m.user_id
       WHERE m.bot_id = $1 AND ${newestMessages.after(nextToken, boundTo, values)}
       ORDER BY ${newestMessages.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestMessages.page(rows, limit, boundTo);
  }

  /** Index participant_joined, then the primary key of each user. */
  async listParticipants(botId: string, conversationId: string, nextToken?: string) {
    const boundTo = ['participants', botId, conversationId];
    const values: unknown[] = [botId, conversationId];
    const rows = await this.database.query<UserEntity & { joined_at: Date }>(
      `SELECT u.*, p.joined_at FROM participant p JOIN "user" u ON u.bot_id = $1 AND u.id = p.user_id
       WHERE p.bot_id = $1 AND p.conversation_id = $2 AND ${newestParticipants.after(nextToken, boundTo, values)}
       ORDER BY ${newestParticipants.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestParticipants.page(rows, limit, boundTo);
  }
}

function toPlace(botId: string, row: PlaceRow): Place {
  return {
    me: row.me_id === null ? null : { id: row.me_id, foreign_id: row.me_foreign_id },
    conversation:
      row.conversation_id === null
        ? null
        : {
            bot_id: botId,
            id: row.conversation_id,
            foreign_id: row.conversation_foreign_id,
            owner_id: row.owner_id,
            is_chat: true,
            created_at: row.conversation_created_at,
            updated_at: row.conversation_updated_at,
          },
    isParticipant: row.is_participant,
  };
}

/**
 * Platform ids match the pattern of foreign ids too. Any other name is replaced by the empty string, which matches no
 * row.
 */
function possibleId(name: string): string {
  return foreignId.test(name) ? name : '';
}
