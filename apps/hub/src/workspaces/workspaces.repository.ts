import { Injectable } from '@nestjs/common';
import type { WorkspaceLabel } from '@parley/contracts/admin/workspaces';
import { Database, type Transaction } from '@parley/persistence/database';

@Injectable()
export class WorkspacesRepository {
  constructor(private readonly database: Database) {}

  /** Safe in any order: keeps the newest label. */
  async saveLabel({ id, name, handle, updatedAt }: WorkspaceLabel): Promise<void> {
    await this.database.query(
      `INSERT INTO workspace (id, name, handle, updated_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, handle = excluded.handle, updated_at = excluded.updated_at
       WHERE workspace.updated_at <= excluded.updated_at`,
      [id, name, handle, updatedAt],
    );
  }

  /**
   * Deletes the private entries of a workspace. Keeps entries that are published, installed or referred to, and the
   * label of the workspace while it owns any.
   */
  async deletePrivateEntries(tx: Transaction, id: string): Promise<void> {
    await tx.query(
      `DELETE FROM plugin WHERE workspace_id = $1 AND visibility = 'private' AND NOT EXISTS (
         SELECT FROM installation WHERE entry_id = plugin.id)`,
      [id],
    );
    await tx.query(
      `DELETE FROM plugin_code code WHERE NOT EXISTS (SELECT FROM plugin WHERE node_code = code.hash)
         AND NOT EXISTS (SELECT FROM plugin WHERE browser_code = code.hash)`,
    );
    await tx.query(
      `DELETE FROM integration WHERE workspace_id = $1 AND (visibility = 'private' OR dev)
         AND NOT EXISTS (SELECT FROM installation WHERE entry_id = integration.id)
         AND NOT EXISTS (SELECT FROM plugin_integration WHERE integration_id = integration.id)`,
      [id],
    );
    await tx.query(
      `DELETE FROM interface WHERE workspace_id = $1 AND visibility = 'private'
         AND NOT EXISTS (SELECT FROM integration_interface WHERE interface_id = interface.id)
         AND NOT EXISTS (SELECT FROM plugin_interface WHERE interface_id = interface.id)`,
      [id],
    );
    await tx.query(
      `DELETE FROM workspace WHERE id = $1 AND NOT EXISTS (SELECT FROM integration WHERE workspace_id = $1)
         AND NOT EXISTS (SELECT FROM plugin WHERE workspace_id = $1)
         AND NOT EXISTS (SELECT FROM interface WHERE workspace_id = $1)`,
      [id],
    );
  }
}
