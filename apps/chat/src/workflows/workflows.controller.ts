import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import {
  type CreateWorkflow,
  type GetOrCreateWorkflow,
  type ListWorkflows,
  type UpdateWorkflow,
  type WorkflowId,
  workflows,
} from '@parley/contracts/chat/workflows';
import { WorkflowsService } from './workflows.service';

@Controller()
export class WorkflowsController {
  constructor(private readonly service: WorkflowsService) {}

  @Handles(workflows.create)
  create(caller: BotCaller, input: CreateWorkflow) {
    return this.service.create(caller, input);
  }

  @Handles(workflows.get)
  get(caller: BotCaller, input: WorkflowId) {
    return this.service.get(caller, input);
  }

  @Handles(workflows.getOrCreate)
  getOrCreate(caller: BotCaller, input: GetOrCreateWorkflow) {
    return this.service.getOrCreate(caller, input);
  }

  @Handles(workflows.list)
  list(caller: BotCaller, query: ListWorkflows) {
    return this.service.list(caller, query);
  }

  @Handles(workflows.update)
  update(caller: BotCaller, input: UpdateWorkflow) {
    return this.service.update(caller, input);
  }

  @Handles(workflows.delete)
  delete(caller: BotCaller, input: WorkflowId) {
    return this.service.delete(caller, input);
  }
}
