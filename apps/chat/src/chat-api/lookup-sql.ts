import { foreignId } from '@parley/contracts/chat/foreign-id';
import { isOf } from '../queries/scope';
import type { ConversationLookup } from './viewer';

/** Message or custom event with its author. */
export interface StoredMessage {
  id: string;
  type: string;
  payload: Record<string, unknown>;
  created_at: Date;
  user_id: string;
  user_foreign_id: string | null;
}

export type MessageLookup = ConversationLookup & { stored: StoredMessage | null };

export interface ConversationLookupRow {
  viewer_id: string | null;
  viewer_foreign_id: string | null;
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
export const byForeignOrPlatformId = (table: string, scope: string, parameter: string) => `(
  SELECT * FROM ${table} WHERE bot_id = $1 AND ${scope} AND foreign_id = ${parameter}
  UNION ALL SELECT * FROM ${table} WHERE bot_id = $1 AND ${scope} AND id = ${parameter}
  LIMIT 1)`;
export const userNamed = (parameter: string) => byForeignOrPlatformId('"user"', isOf('$2'), parameter);
export const conversationNamed = (parameter: string) =>
  byForeignOrPlatformId('conversation', `${isOf('$2')} AND is_chat`, parameter);

/** `is_participant` is a subquery: as a join, Postgres was seen to read all participants of the conversation. */
export const lookupColumns = `viewer.id AS viewer_id, viewer.foreign_id AS viewer_foreign_id, c.id AS conversation_id,
  c.foreign_id AS conversation_foreign_id, c.owner_id, c.created_at AS conversation_created_at,
  c.updated_at AS conversation_updated_at, EXISTS (
    SELECT FROM participant p WHERE p.bot_id = $1 AND p.conversation_id = c.id AND p.user_id = viewer.id) AS is_participant`;

/** Row `$4` of `message` or `event` if it fulfils the condition, with its author, its conversation and the viewer. */
export const findWithAuthor = (table: 'message' | 'event', condition: string) => `
  SELECT ${lookupColumns}, stored.id, stored.type, stored.payload, stored.created_at, stored.user_id,
    author.foreign_id AS user_foreign_id
  FROM (SELECT) one
  LEFT JOIN ${userNamed('$3')} viewer ON true
  LEFT JOIN (
    ${table} stored JOIN conversation c
      ON c.bot_id = $1 AND c.id = stored.conversation_id AND ${isOf('$2', 'c')} AND c.is_chat
  ) ON stored.bot_id = $1 AND stored.id = $4 AND ${condition}
  LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = stored.user_id`;

export function toConversationLookup(botId: string, row: ConversationLookupRow): ConversationLookup {
  return {
    viewer: row.viewer_id === null ? null : { id: row.viewer_id, foreign_id: row.viewer_foreign_id },
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

export function toMessageLookup(botId: string, row: ConversationLookupRow & StoredMessage): MessageLookup {
  return { ...toConversationLookup(botId, row), stored: row.id ? row : null };
}

/**
 * Platform ids match the pattern of foreign ids too. Any other name is replaced by the empty string, which matches no
 * row.
 */
export function idOrNone(name: string): string {
  return foreignId.test(name) ? name : '';
}
