import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import { webchats } from '@parley/contracts/admin/webchats';
import type { CreateChatFile, CreatedChatFile } from '@parley/contracts/chat/chat-files';
import { visitorFiles } from '@parley/contracts/visitor-files';
import { ParleyClient } from '@parley/transport/parley-client';
import { ChatPrincipalsService } from './chat-principals.service';
import { requireParticipant } from './viewer';
import { ChatApiRepository } from './chat-api.repository';

@Injectable()
export class ChatFilesService {
  constructor(
    private readonly client: ParleyClient,
    private readonly principals: ChatPrincipalsService,
    private readonly repository: ChatApiRepository,
  ) {}

  /** Throws Forbidden unless the bot accepts files and the user is a participant of the conversation. */
  async create(caller: ChatUserCaller, input: CreateChatFile): Promise<CreatedChatFile> {
    const { webhookId, conversationId, ...file } = input;
    const principal = await this.principals.identify(caller, webhookId);
    const { viewer, conversation } = requireParticipant(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    const { storageQuota } = await this.client.call(webchats.requireUploads, caller, { webhookId });
    const { botId, workspaceId } = principal.installation;
    const of = { botId, workspaceId, storageQuota, userId: viewer.id, conversationId: conversation.id };
    return { file: await this.client.call(visitorFiles.declare, caller, { ...of, ...file }) };
  }
}
