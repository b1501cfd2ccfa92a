import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import type { ChatPlace } from '@parley/contracts/chat/callers';
import { ApiError, notFound } from '@parley/contracts/errors';
import { ChatInstallations } from './chat-installations';
import type { Asker, Place } from './endpoint.repository';
import { UserKeys } from './user-keys';

/** Who asks, and where: both are there. */
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

  /** Where a request goes. Throws as `identify` does for one with a user key; one without needs none. */
  async verify({ userKey }: Caller, webhookId: string): Promise<ChatPlace> {
    const { botId } =
      userKey === undefined
        ? await this.installations.get(webhookId)
        : (await this.identify({ userKey }, webhookId)).installation;
    return { botId };
  }

  /** What the user key says. Whether there is such a user is looked at together with what is asked for. */
  async identify({ userKey }: Pick<ChatUserCaller, 'userKey'>, webhookId: string): Promise<Asker> {
    const installation = await this.installations.get(webhookId, (it) => this.keys.isGood(it, userKey));
    return { installation, claim: await this.keys.verify(installation, userKey) };
  }
}

/** Throws Unauthorized when there is no such user. */
export function known<T>(user: T | null | undefined): T {
  if (user) return user;
  throw new ApiError('Unauthorized', 'There is no user of this user key: call getOrCreateUser first.');
}

/** Throws Unauthorized without such a user, ResourceNotFound without the conversation, Forbidden for who does not take part. */
export function participant({ me, conversation, isParticipant }: Place, name: string): Standpoint {
  const user = known(me);
  if (!conversation) throw notFound('conversation', name);
  if (!isParticipant) throw new ApiError('Forbidden', 'Only participants of the conversation may do this.');
  return { me: user, conversation };
}

/** The same, and Forbidden for who does not own it. */
export function owner(place: Place, name: string): Standpoint {
  const user = known(place.me);
  if (!place.conversation) throw notFound('conversation', name);
  if (place.conversation.owner_id !== user.id)
    throw new ApiError('Forbidden', 'Only the owner of the conversation may do this.');
  return { me: user, conversation: place.conversation };
}
