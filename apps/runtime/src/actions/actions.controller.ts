import { Controller } from '@nestjs/common';
import type { BotCaller, WorkspaceCaller } from '@parley/contracts/access';
import type { CallAction, ListActionRuns } from '@parley/contracts/runtime/actions';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Handles } from '@parley/transport/handles';
import { ActionRunsService } from './action-runs.service';
import { ActionsService } from './actions.service';

@Controller()
export class ActionsController {
  constructor(
    private readonly actions: ActionsService,
    private readonly runs: ActionRunsService,
  ) {}

  @Handles(runtime.actions.call)
  call(caller: BotCaller, input: CallAction) {
    return this.actions.call(caller, input);
  }

  @Handles(runtime.actions.listRuns)
  listRuns(caller: WorkspaceCaller, input: ListActionRuns) {
    return this.runs.list(caller, input);
  }
}
