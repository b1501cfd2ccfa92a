import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import type {
  AddChatParticipant,
  ChatParticipantId,
  ChatParticipantReply,
  ChatParticipants,
  ListInChatConversation,
} from '@parley/contracts/chat-api/conversations';
import { ApiError, notFound } from '@parley/contracts/errors';
import { ParticipantsService } from '../conversations/participants.service';
import { toChatUser } from './chat-objects';
import { ChatApiRepository } from './chat-api.repository';
import { ChatPrincipalsService } from './chat-principals.service';
import { requireOwner, requireParticipant } from './viewer';

@Injectable()
export class ChatParticipantsService {
  constructor(
    private readonly principals: ChatPrincipalsService,
    private readonly repository: ChatApiRepository,
    private readonly participants: ParticipantsService,
  ) {}

  /** Idempotent: does nothing for a user who is a participant already. */
  async add(
    caller: ChatUserCaller,
    { webhookId, conversationId, userId }: AddChatParticipant,
  ): Promise<ChatParticipantReply> {
    const principal = await this.principals.identify(caller, webhookId);
    const { conversation } = requireOwner(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    const user = await this.repository.findChatUser(principal.installation, userId);
    if (!user) throw notFound('user', userId);
    await this.participants.join(conversation, user);
    return { participant: toChatUser(user) };
  }

  async get(
    caller: ChatUserCaller,
    { webhookId, conversationId, userId }: ChatParticipantId,
  ): Promise<ChatParticipantReply> {
    const principal = await this.principals.identify(caller, webhookId);
    const { conversation } = requireParticipant(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    const user = await this.repository.findChatParticipant(conversation.bot_id, conversation.id, userId);
    if (!user) throw notFound('participant', userId);
    return { participant: toChatUser(user) };
  }

  async remove(caller: ChatUserCaller, { webhookId, conversationId, userId }: ChatParticipantId): Promise<object> {
    const principal = await this.principals.identify(caller, webhookId);
    const { conversation } = requireOwner(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    const user = await this.repository.findChatParticipant(conversation.bot_id, conversation.id, userId);
    if (user?.id === conversation.owner_id)
      throw new ApiError(
        'InvalidPayload',
        'userId must not be the owner of the conversation: the owner cannot be removed.',
      );
    if (!user || !(await this.participants.leave(conversation, user))) throw notFound('participant', userId);
    return {};
  }

  async list(
    caller: ChatUserCaller,
    { webhookId, conversationId, nextToken }: ListInChatConversation,
  ): Promise<ChatParticipants> {
    const principal = await this.principals.identify(caller, webhookId);
    const { conversation } = requireParticipant(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    const page = await this.repository.listChatParticipants(conversation.bot_id, conversation.id, nextToken);
    return { participants: page.rows.map(toChatUser), meta: { nextToken: page.nextToken } };
  }
}
