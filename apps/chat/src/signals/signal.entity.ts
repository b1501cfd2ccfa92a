import { toChatMessage } from '../endpoint/chat-payload';

/** What the listeners of a conversation are told. */
export interface Signal {
  type: string;
  /** As listeners see it, with foreign ids where there are some. Absent when it only ends streams. */
  data?: Record<string, unknown>;
  /** A user whose streams of the conversation end after all that was told before. */
  closes?: string;
}

/** A new message in a conversation of the chat, with what is shown in place of ids. */
export interface SignalledMessage {
  id: string;
  conversation_id: string;
  user_id: string;
  type: string;
  payload: Record<string, unknown>;
  direction: 'incoming' | 'outgoing';
  created_at: Date;
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
}

/** The exact text that listeners get, or null when there is nothing to tell. */
export function frameOf({ type, data }: Signal): string | null {
  return data ? JSON.stringify({ type, data }) : null;
}

/** Of a message that is signalled by this type. Null when it ends no stream any more. */
export function frameOfMessage(type: string, message: SignalledMessage): string | null {
  const shown = toChatMessage({
    id: message.id,
    conversationId: message.conversation_foreign_id ?? message.conversation_id,
    userId: message.user_foreign_id ?? message.user_id,
    type: message.type,
    payload: message.payload,
    createdAt: message.created_at,
  });
  if (type !== 'message_stream_complete')
    return frameOf({ type, data: { ...shown, isBot: message.direction === 'outgoing' } });
  const streamId = shown.metadata?.['streamId'];
  return frameOf({ type, data: typeof streamId === 'string' ? { streamId, message: shown } : undefined });
}

/** What is told of a user's place in a conversation. */
export function shownPlace(
  conversation: { id: string; foreign_id: string | null },
  user: { id: string; foreign_id: string | null },
) {
  return { conversationId: conversation.foreign_id ?? conversation.id, participantId: user.foreign_id ?? user.id };
}
