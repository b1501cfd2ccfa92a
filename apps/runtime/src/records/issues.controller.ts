import { Controller } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { IssueId, ListIssues } from '@parley/contracts/runtime/issues';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Handles } from '@parley/transport/handles';
import { IssuesService } from './issues.service';

@Controller()
export class IssuesController {
  constructor(private readonly service: IssuesService) {}

  @Handles(runtime.issues.list)
  list(caller: WorkspaceCaller, input: ListIssues) {
    return this.service.list(caller, input);
  }

  @Handles(runtime.issues.get)
  get(caller: WorkspaceCaller, input: IssueId) {
    return this.service.get(caller, input);
  }

  @Handles(runtime.issues.listEvents)
  listEvents(caller: WorkspaceCaller, input: IssueId) {
    return this.service.listEvents(caller, input);
  }

  @Handles(runtime.issues.delete)
  delete(caller: WorkspaceCaller, input: IssueId) {
    return this.service.delete(caller, input);
  }
}
