import type { BotCaller } from '@parley/contracts/access';
import { maxTags } from '@parley/contracts/chat/chat-fields';
import { newId } from '@parley/persistence/ids';
import { storedNames } from '../queries/scope';
import { mergedTags } from '../tags/object-tags';
import type { Draft } from './new-messages.repository';

interface DraftInput {
  userId: string;
  conversationId: string;
  type: string;
  payload?: Record<string, unknown>;
  tags: Record<string, string | null>;
  origin?: 'synthetic';
}

/** Message row for the given content. Empty and null tags are dropped; tag names are stored as the bot sees them. */
export function draftOf(caller: BotCaller, content: DraftInput): Draft {
  return {
    id: newId('msg'),
    conversation_id: content.conversationId,
    user_id: content.userId,
    type: content.type,
    payload: content.payload ?? {},
    tags: mergedTags({}, storedNames(caller, content.tags), maxTags),
    origin: content.origin,
    alias: caller.integration?.alias,
  };
}
