import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type { CreateConsoleLink, CreateConsoleSession } from '@parley/contracts/admin/console';
import type { Caller } from '@parley/contracts/caller';
import { ConsoleService } from './console.service';

@Controller()
export class ConsoleController {
  constructor(private readonly service: ConsoleService) {}

  @Handles(admin.consoleLinks.create)
  createLink(_caller: Caller, input: CreateConsoleLink) {
    return this.service.createLink(input);
  }

  @Handles(admin.consoleSessions.create)
  createSession(_caller: Caller, input: CreateConsoleSession) {
    return this.service.createSession(input);
  }
}
