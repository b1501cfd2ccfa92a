import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type {
  CheckHandle,
  CreateWorkspace,
  LabelWorkspace,
  ListPublicWorkspaces,
  ListWorkspaces,
  UpdateWorkspace,
  WorkspaceId,
} from '@parley/contracts/admin/workspaces';
import type { Caller } from '@parley/contracts/caller';
import { WorkspacesService } from './workspaces.service';

@Controller()
export class WorkspacesController {
  constructor(private readonly service: WorkspacesService) {}

  @Handles(admin.workspaces.create)
  create(caller: AccountCaller, input: CreateWorkspace) {
    return this.service.create(caller, input);
  }

  @Handles(admin.workspaces.get)
  get(caller: AccountCaller, input: WorkspaceId) {
    return this.service.get(caller, input);
  }

  @Handles(admin.workspaces.list)
  list(caller: AccountCaller, input: ListWorkspaces) {
    return this.service.list(caller, input);
  }

  @Handles(admin.workspaces.label)
  label(_caller: Caller, input: LabelWorkspace) {
    return this.service.label(input);
  }

  @Handles(admin.workspaces.getPublic)
  getPublic(_caller: Caller, input: WorkspaceId) {
    return this.service.getPublic(input);
  }

  @Handles(admin.workspaces.listPublic)
  listPublic(_caller: Caller, input: ListPublicWorkspaces) {
    return this.service.listPublic(input);
  }

  @Handles(admin.workspaces.checkHandle)
  checkHandle(_caller: Caller, input: CheckHandle) {
    return this.service.checkHandle(input);
  }

  @Handles(admin.workspaces.delete)
  delete(caller: AccountCaller, input: WorkspaceId) {
    return this.service.delete(caller, input);
  }

  @Handles(admin.workspaces.migrateToV4)
  migrateToV4(caller: AccountCaller, input: WorkspaceId) {
    return this.service.migrateToV4(caller, input);
  }

  @Handles(admin.workspaces.update)
  update(caller: AccountCaller, input: UpdateWorkspace) {
    return this.service.update(caller, input);
  }
}
