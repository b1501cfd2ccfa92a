import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { Sql, Transaction } from '@parley/persistence/database';
import { isForeignKeyViolation, isUniqueViolation } from '@parley/persistence/errors';
import { isPrerelease, versionKey } from '../publishing/version-key';
import { inScope, publicationColumns, type Scope } from '../publishing/publications.repository';
import { InterfaceEntity, type InterfaceRow } from './interface.entity';

const columns = `${publicationColumns}, definition`;

export type InterfaceValues = Omit<InterfaceRow, 'id' | 'created_at' | 'updated_at'>;

@Injectable()
export class InterfacesRepository {
  async insertInterface(tx: Transaction, row: InterfaceValues, sdkVersion: string | undefined): Promise<InterfaceRow> {
    try {
      const [created] = await tx.query<InterfaceRow>(
        `INSERT INTO interface (id, workspace_id, name, version, version_key, is_prerelease, visibility, title, description, icon_url, readme_url,
           definition, sdk_version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING ${columns}`,
        [
          randomUUID(),
          row.workspace_id,
          row.name,
          row.version,
          versionKey(row.version),
          isPrerelease(row.version),
          row.visibility,
          row.title,
          row.description,
          row.icon_url,
          row.readme_url,
          JSON.stringify(row.definition),
          sdkVersion ?? null,
        ],
      );
      return created!;
    } catch (error) {
      if (!isUniqueViolation(error, 'interface_version')) throw error;
      throw new ApiError('AlreadyExists', `Interface "${row.name}" ${row.version} already exists in this workspace.`);
    }
  }

  async findInterfaceById(sql: Sql, scope: Scope, id: string): Promise<InterfaceRow | undefined> {
    const values: unknown[] = [id];
    const [row] = await sql.query<InterfaceRow>(
      `SELECT ${columns} FROM interface WHERE id = $1 AND ${inScope(scope, values)}`,
      values,
    );
    return row;
  }

  /** Row lock: blocks other changes of the interface until the transaction ends. */
  async findInterfaceForUpdate(tx: Transaction, workspaceId: string, id: string): Promise<InterfaceRow | undefined> {
    const [row] = await tx.query<InterfaceRow>(
      `SELECT ${columns} FROM interface WHERE id = $1 AND workspace_id = $2 FOR UPDATE`,
      [id, workspaceId],
    );
    return row;
  }

  async updateInterface(tx: Transaction, row: InterfaceRow, sdkVersion: string | undefined): Promise<InterfaceRow> {
    const [updated] = await tx.query<InterfaceRow>(
      `UPDATE interface SET visibility = $2, title = $3, description = $4, icon_url = $5, readme_url = $6,
         definition = $7, sdk_version = coalesce($8, sdk_version), updated_at = now()
       WHERE id = $1 RETURNING ${columns}`,
      [
        row.id,
        row.visibility,
        row.title,
        row.description,
        row.icon_url,
        row.readme_url,
        JSON.stringify(row.definition),
        sdkVersion ?? null,
      ],
    );
    return updated!;
  }

  /** Throws ReferenceConstraint when an integration or plugin refers to the interface. */
  async deleteInterface(tx: Transaction, { id, name, version }: InterfaceRow): Promise<void> {
    try {
      await tx.manager.delete(InterfaceEntity, { id });
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      throw new ApiError(
        'ReferenceConstraint',
        `Cannot delete interface "${name}" ${version}: integrations or plugins refer to it. Remove these references first.`,
      );
    }
  }
}
