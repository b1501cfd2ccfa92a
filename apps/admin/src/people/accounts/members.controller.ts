import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { CreateWorkspaceMember, UpdateWorkspaceMember, WorkspaceMemberId } from '@parley/contracts/admin/members';
import type { PageQuery } from '@parley/contracts/paging';
import { MembersService } from './members.service';

@Controller()
export class MembersController {
  constructor(private readonly service: MembersService) {}

  @Handles(admin.members.list)
  list(caller: WorkspaceCaller, input: PageQuery) {
    return this.service.list(caller, input);
  }

  @Handles(admin.members.getOwn)
  getOwn(caller: WorkspaceCaller) {
    return this.service.getOwn(caller);
  }

  @Handles(admin.members.create)
  create(caller: WorkspaceCaller, input: CreateWorkspaceMember) {
    return this.service.create(caller, input);
  }

  @Handles(admin.members.update)
  update(caller: WorkspaceCaller, input: UpdateWorkspaceMember) {
    return this.service.update(caller, input);
  }

  @Handles(admin.members.delete)
  delete(caller: WorkspaceCaller, input: WorkspaceMemberId) {
    return this.service.delete(caller, input);
  }
}
