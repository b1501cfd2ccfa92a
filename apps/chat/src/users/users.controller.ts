import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type {
  CreateUser,
  GetOrCreateUser,
  ListUsers,
  UpdateUser,
  UserId,
  UserOfBot,
} from '@parley/contracts/chat/users';
import { UsersService } from './users.service';

@Controller()
export class UsersController {
  constructor(private readonly service: UsersService) {}

  @Handles(chat.users.create)
  create(caller: BotCaller, input: CreateUser) {
    return this.service.create(caller, input);
  }

  @Handles(chat.users.get)
  get(caller: BotCaller, input: UserId) {
    return this.service.get(caller, input);
  }

  @Handles(chat.users.getOrCreate)
  getOrCreate(caller: BotCaller, input: GetOrCreateUser) {
    return this.service.getOrCreate(caller, input);
  }

  @Handles(chat.users.list)
  list(caller: BotCaller, input: ListUsers) {
    return this.service.list(caller, input);
  }

  @Handles(chat.users.update)
  update(caller: BotCaller, input: UpdateUser) {
    return this.service.update(caller, input);
  }

  @Handles(chat.users.delete)
  delete(caller: BotCaller, input: UserId) {
    return this.service.delete(caller, input);
  }

  @Handles(chat.users.exists)
  exists(_caller: Caller, input: UserOfBot) {
    return this.service.exists(input);
  }
}
