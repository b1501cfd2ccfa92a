import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { ChatUserCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type { ChatEndpoint, ChatUserFields, CreateChatUser } from '@parley/contracts/chat-api/users';
import { ChatUsersService } from './chat-users.service';

@Controller()
export class ChatUsersController {
  constructor(private readonly service: ChatUsersService) {}

  @Handles(chat.chatApi.createUser)
  createUser(caller: Caller, input: CreateChatUser) {
    return this.service.create(caller, input);
  }

  @Handles(chat.chatApi.getOrCreateUser)
  getOrCreateUser(caller: ChatUserCaller, input: ChatUserFields) {
    return this.service.getOrCreate(caller, input);
  }

  @Handles(chat.chatApi.getUser)
  getUser(caller: ChatUserCaller, input: ChatEndpoint) {
    return this.service.get(caller, input);
  }

  @Handles(chat.chatApi.updateUser)
  updateUser(caller: ChatUserCaller, input: ChatUserFields) {
    return this.service.update(caller, input);
  }

  @Handles(chat.chatApi.deleteUser)
  deleteUser(caller: ChatUserCaller, input: ChatEndpoint) {
    return this.service.delete(caller, input);
  }
}
