import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { IntegrationEntity } from '../integrations/integration.entity';

export interface SharedIntegration extends Pick<IntegrationEntity, 'workspace_id' | 'name' | 'secrets'> {
  extract_script: string | null;
  fallback_script: string | null;
}

@Injectable()
export class SharedWebhooksRepository {
  constructor(private readonly database: Database) {}

  /**
   * Highest version of an integration with one of the names, the longer name first, a published one before private ones.
   * Undefined if several workspaces have private integrations of the name, and none has published it. Index
   * integration_by_name.
   */
  async findByName(names: string[]): Promise<SharedIntegration | undefined> {
    const [row] = await this.database.query<SharedIntegration & { is_private: boolean; owners: number }>(
      `SELECT workspace_id, name, secrets, definition -> 'identifier' ->> 'extractScript' AS extract_script,
         definition -> 'identifier' ->> 'fallbackHandlerScript' AS fallback_script, visibility = 'private' AS is_private,
         (SELECT count(DISTINCT workspace_id)::int FROM integration AS other
          WHERE other.name = integration.name AND NOT other.dev) AS owners
       FROM integration WHERE name = ANY ($1::text[]) AND NOT dev
       ORDER BY length(name) DESC, visibility = 'private', is_prerelease, version_key DESC LIMIT 1`,
      [names],
    );
    return row && row.is_private && row.owners > 1 ? undefined : row;
  }
}
