import { builtInWorkspace } from '@parley/contracts/hub/built-in';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { builtInInterfaces } from '../interfaces/built-in-interfaces';
import { versionKey } from '../publishing/version-key';

/** Inserts the built-in interfaces; a later change needs a migration of its own. */
export class BuiltInInterfaces1700000003023 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const { id, name, version, title, description, definition } of builtInInterfaces) {
      await runner.query(
        `INSERT INTO interface (id, workspace_id, name, version, version_key, is_prerelease, visibility, title,
           description, icon_url, readme_url, definition)
         VALUES ($1, $2, $3, $4, $5, false, 'public', $6, $7, '', '', $8)`,
        [id, builtInWorkspace.id, name, version, versionKey(version), title, description, JSON.stringify(definition)],
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM interface WHERE workspace_id = $1', [builtInWorkspace.id]);
  }
}
