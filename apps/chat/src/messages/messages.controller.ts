import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type {
  CreateMessage,
  GetOrCreateMessage,
  ImportMessages,
  ListMessages,
  MessageId,
  UpdateMessage,
} from '@parley/contracts/chat/messages';
import { MessageImportsService } from './message-imports.service';
import { MessagesService } from './messages.service';
import type { InitializeIncomingMessage } from '@parley/contracts/chat/incoming-messages';
import { IncomingMessagesService } from './incoming-messages.service';

@Controller()
export class MessagesController {
  constructor(
    private readonly service: MessagesService,
    private readonly imports: MessageImportsService,
    private readonly incoming: IncomingMessagesService,
  ) {}

  @Handles(chat.messages.create)
  create(caller: BotCaller, input: CreateMessage) {
    return this.service.create(caller, input);
  }

  @Handles(chat.messages.get)
  get(caller: BotCaller, input: MessageId) {
    return this.service.get(caller, input);
  }

  @Handles(chat.messages.getOrCreate)
  getOrCreate(caller: BotCaller, input: GetOrCreateMessage) {
    return this.service.getOrCreate(caller, input);
  }

  @Handles(chat.messages.list)
  list(caller: BotCaller, input: ListMessages) {
    return this.service.list(caller, input);
  }

  @Handles(chat.messages.update)
  update(caller: BotCaller, input: UpdateMessage) {
    return this.service.update(caller, input);
  }

  @Handles(chat.messages.delete)
  delete(caller: BotCaller, input: MessageId) {
    return this.service.delete(caller, input);
  }

  @Handles(chat.messages.import)
  import(caller: BotCaller, input: ImportMessages) {
    return this.imports.import(caller, input);
  }

  @Handles(chat.incomingMessages.initialize)
  initialize(caller: BotCaller, input: InitializeIncomingMessage) {
    return this.incoming.initialize(caller, input);
  }
}
