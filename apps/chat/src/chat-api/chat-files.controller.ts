import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { ChatUserCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type { CreateChatFile } from '@parley/contracts/chat/chat-files';
import { ChatFilesService } from './chat-files.service';

@Controller()
export class ChatFilesController {
  constructor(private readonly service: ChatFilesService) {}

  @Handles(chat.chatFiles.create)
  create(caller: ChatUserCaller, input: CreateChatFile) {
    return this.service.create(caller, input);
  }
}
