import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import {
  dropWorkspace,
  labelWorkspace,
  type WorkspaceDeleted,
  type WorkspaceLabel,
} from '@parley/contracts/admin/workspaces';
import { Database } from '@parley/persistence/database';
import { WorkspacesRepository } from './workspaces.repository';

/** Keeps the copies of admin's workspaces up to date. Idempotent. */
@Controller()
export class CopyWorkspacesHandler {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesRepository,
  ) {}

  @Consumes(labelWorkspace)
  async label(label: WorkspaceLabel): Promise<void> {
    await this.workspaces.saveLabel(label);
  }

  @Consumes(dropWorkspace)
  async drop({ workspaceId }: WorkspaceDeleted): Promise<void> {
    await this.database.transaction((tx) => this.workspaces.deletePrivateEntries(tx, workspaceId));
  }
}
