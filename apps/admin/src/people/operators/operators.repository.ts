import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { WorkspaceEntity } from '../workspaces/workspace.entity';

@Injectable()
export class OperatorsRepository {
  constructor(private readonly database: Database) {}

  /** Index workspace_operators. */
  async findWorkspaceId(): Promise<string | undefined> {
    const workspace = await this.database.manager.findOne(WorkspaceEntity, {
      select: { id: true },
      where: { is_operators: true },
    });
    return workspace?.id;
  }
}
