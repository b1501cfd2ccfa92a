import { Controller } from '@nestjs/common';
import { eraseContents, type SubjectErased } from '@parley/contracts/chat/erased-subjects';
import { Consumes } from '@parley/transport/handles';
import { ContentsRepository } from './contents.repository';

/** Idempotent. */
@Controller()
export class EraseContentsHandler {
  constructor(private readonly contents: ContentsRepository) {}

  @Consumes(eraseContents)
  async erase({ botId, conversationId }: SubjectErased): Promise<void> {
    // Calls name no user.
    if (conversationId !== undefined) await this.contents.deleteOfConversation(botId, conversationId);
  }
}
