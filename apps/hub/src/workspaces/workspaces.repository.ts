import { Injectable } from '@nestjs/common';
import type { WorkspaceLabel } from '@parley/contracts/admin/workspaces';
import { Database } from '@parley/database/database';

@Injectable()
export class WorkspacesRepository {
  constructor(private readonly database: Database) {}

  /** Keeps the newest of what it is told, in whatever order that arrives. */
  async save({ id, name, handle, updatedAt }: WorkspaceLabel): Promise<void> {
    await this.database.query(
      `INSERT INTO workspace (id, name, handle, updated_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, handle = excluded.handle, updated_at = excluded.updated_at
       WHERE workspace.updated_at <= excluded.updated_at`,
      [id, name, handle, updatedAt],
    );
  }
}
