import type { ChatInstallation } from './chat-installations.cache';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { ConversationEntity } from '../conversations/conversation.entity';
import type { UserEntity } from '../users/user.entity';

/** Chat installation and the user id in the claim of the user key. The user may not exist. */
export interface ChatPrincipal {
  installation: ChatInstallation;
  claim: string;
}

type FoundUser = Pick<UserEntity, 'id' | 'foreign_id'>;
type FoundConversation = Pick<
  ConversationEntity,
  'bot_id' | 'id' | 'foreign_id' | 'owner_id' | 'is_chat' | 'created_at' | 'updated_at'
>;

/** Calling user and requested conversation; null if not found. */
export interface ConversationLookup {
  viewer: FoundUser | null;
  conversation: FoundConversation | null;
  isParticipant: boolean;
}

/** Calling user and conversation, both found. */
export interface ViewedConversation {
  viewer: FoundUser;
  conversation: FoundConversation;
}

export function requireUser<T>(user: T | null | undefined): T {
  if (user) return user;
  throw new ApiError('Unauthorized', 'No user exists for this user key. Call getOrCreateUser first.');
}

/**
 * Throws Unauthorized without such a user, ResourceNotFound without the conversation, Forbidden for a user who is not a
 * participant.
 */
export function requireParticipant(lookup: ConversationLookup, name: string): ViewedConversation {
  const viewer = requireUser(lookup.viewer);
  if (!lookup.conversation) throw notFound('conversation', name);
  if (!lookup.isParticipant) throw new ApiError('Forbidden', 'Only participants of the conversation may do this.');
  return { viewer, conversation: lookup.conversation };
}

/**
 * Throws Unauthorized without such a user, ResourceNotFound without the conversation, Forbidden for a user who is not
 * the owner.
 */
export function requireOwner({ viewer: user, conversation }: ConversationLookup, name: string): ViewedConversation {
  const viewer = requireUser(user);
  if (!conversation) throw notFound('conversation', name);
  if (conversation.owner_id !== viewer.id)
    throw new ApiError('Forbidden', 'Only the owner of the conversation may do this.');
  return { viewer, conversation };
}
