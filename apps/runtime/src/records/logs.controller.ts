import { Controller } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import type { GetBotLogs, GetIntegrationLogs, WriteLogs } from '@parley/contracts/runtime/logs';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Handles } from '@parley/transport/handles';
import { LogsService } from './logs.service';

@Controller()
export class LogsController {
  constructor(private readonly service: LogsService) {}

  @Handles(runtime.logs.write)
  write(_caller: Caller, input: WriteLogs) {
    return this.service.write(input);
  }

  @Handles(runtime.logs.list)
  list(caller: WorkspaceCaller, input: GetBotLogs) {
    return this.service.list(caller, input);
  }

  @Handles(runtime.logs.listOfIntegration)
  listOfIntegration(caller: WorkspaceCaller, input: GetIntegrationLogs) {
    return this.service.listOfIntegration(caller, input);
  }

  @Handles(runtime.logs.listOfAnyBot)
  listOfAnyBot(_caller: Caller, input: GetBotLogs) {
    return this.service.listOfAnyBot(input);
  }
}
