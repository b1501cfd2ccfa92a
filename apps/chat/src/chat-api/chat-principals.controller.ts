import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type { ChatEndpoint } from '@parley/contracts/chat-api/users';
import { ChatPrincipalsService } from './chat-principals.service';

@Controller()
export class ChatPrincipalsController {
  constructor(private readonly service: ChatPrincipalsService) {}

  @Handles(chat.chatApi.hello)
  hello(_caller: Caller, { webhookId }: ChatEndpoint) {
    return this.service.hello(webhookId);
  }

  @Handles(chat.chatApi.helloWithSlash)
  helloWithSlash(_caller: Caller, { webhookId }: ChatEndpoint) {
    return this.service.hello(webhookId);
  }

  @Handles(chat.callers.verify)
  verifyCaller(caller: Caller, { webhookId }: ChatEndpoint) {
    return this.service.verify(caller, webhookId);
  }
}
