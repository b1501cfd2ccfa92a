import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import type { ChatBot } from '@parley/contracts/chat/callers';
import { ApiError, notFound } from '@parley/contracts/errors';
import { ChatInstallations } from './chat-installations';
import type { Asker, Place } from './endpoint.repository';
import { UserKeys } from './user-keys';

/** Calling user and conversation, both found. */
export interface Standpoint {
  me: NonNullable<Place['me']>;
  conversation: NonNullable<Place['conversation']>;
}

@Injectable()
export class Askers {
  constructor(
    private readonly installations: ChatInstallations,
    private readonly keys: UserKeys,
  ) {}

  /** Bot of the request. Verifies the user key if one is given; none is required. */
  async verify({ userKey }: Caller, webhookId: string): Promise<ChatBot> {
    const { botId } =
      userKey === undefined
        ? await this.installations.get(webhookId)
        : (await this.identify({ userKey }, webhookId)).installation;
    return { botId };
  }

  /** Verifies the user key. Does not look up the user: that is part of the statement which reads the requested data. */
  async identify({ userKey }: Pick<ChatUserCaller, 'userKey'>, webhookId: string): Promise<Asker> {
    const installation = await this.installations.get(webhookId, (it) => this.keys.isGood(it, userKey));
    return { installation, claim: await this.keys.verify(installation, userKey) };
  }
}

export function known<T>(user: T | null | undefined): T {
  if (user) return user;
  throw new ApiError('Unauthorized', 'No user exists for this user key. Call getOrCreateUser first.');
}

/**
 * Throws Unauthorized without such a user, ResourceNotFound without the conversation, Forbidden for a user who is not a
 * participant.
 */
export function participant({ me, conversation, isParticipant }: Place, name: string): Standpoint {
  const user = known(me);
  if (!conversation) throw notFound('conversation', name);
  if (!isParticipant) throw new ApiError('Forbidden', 'Only participants of the conversation may do this.');
  return { me: user, conversation };
}

/**
 * Throws Unauthorized without such a user, ResourceNotFound without the conversation, Forbidden for a user who is not
 * the owner.
 */
export function owner(place: Place, name: string): Standpoint {
  const user = known(place.me);
  if (!place.conversation) throw notFound('conversation', name);
  if (place.conversation.owner_id !== user.id)
    throw new ApiError('Forbidden', 'Only the owner of the conversation may do this.');
  return { me: user, conversation: place.conversation };
}
