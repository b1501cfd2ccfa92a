import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import type {
  AddChatParticipant,
  ChatParticipantId,
  ChatParticipantReply,
  ChatParticipants,
  ListInChatConversation,
} from '@parley/contracts/chat/endpoint-conversations';
import { ApiError, notFound } from '@parley/contracts/errors';
import { ParticipantsService } from '../conversations/participants.service';
import { Askers, owner, participant } from './askers';
import { toChatUser } from './endpoint.entity';
import { EndpointRepository } from './endpoint.repository';

@Injectable()
export class ChatParticipantsService {
  constructor(
    private readonly askers: Askers,
    private readonly endpoint: EndpointRepository,
    private readonly participants: ParticipantsService,
  ) {}

  /** Idempotent: does nothing for a user who is a participant already. */
  async add(
    caller: ChatUserCaller,
    { webhookId, conversationId, userId }: AddChatParticipant,
  ): Promise<ChatParticipantReply> {
    const asker = await this.askers.identify(caller, webhookId);
    const { conversation } = owner(await this.endpoint.findPlace(asker, conversationId), conversationId);
    const user = await this.endpoint.findUser(asker.installation, userId);
    if (!user) throw notFound('user', userId);
    await this.participants.join(conversation, user);
    return { participant: toChatUser(user) };
  }

  async get(
    caller: ChatUserCaller,
    { webhookId, conversationId, userId }: ChatParticipantId,
  ): Promise<ChatParticipantReply> {
    const asker = await this.askers.identify(caller, webhookId);
    const { conversation } = participant(await this.endpoint.findPlace(asker, conversationId), conversationId);
    const user = await this.endpoint.findParticipant(conversation.bot_id, conversation.id, userId);
    if (!user) throw notFound('participant', userId);
    return { participant: toChatUser(user) };
  }

  async remove(caller: ChatUserCaller, { webhookId, conversationId, userId }: ChatParticipantId): Promise<object> {
    const asker = await this.askers.identify(caller, webhookId);
    const { conversation } = owner(await this.endpoint.findPlace(asker, conversationId), conversationId);
    const user = await this.endpoint.findParticipant(conversation.bot_id, conversation.id, userId);
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
    const asker = await this.askers.identify(caller, webhookId);
    const { conversation } = participant(await this.endpoint.findPlace(asker, conversationId), conversationId);
    const page = await this.endpoint.listParticipants(conversation.bot_id, conversation.id, nextToken);
    return { participants: page.rows.map(toChatUser), meta: { nextToken: page.nextToken } };
  }
}
