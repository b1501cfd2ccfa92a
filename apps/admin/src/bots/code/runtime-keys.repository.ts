import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { hashToken, tokenPreview } from '@parley/secrets/token';

interface NewRuntimeKey {
  integrationId: string;
  workspaceId: string;
  revision: string;
  token: string;
}

@Injectable()
export class RuntimeKeysRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores the hash of a key. Keys of older revisions end two minutes later, and so does this one if a newer key exists.
   * Index token_integration.
   */
  async storeKey({ integrationId, workspaceId, revision, token }: NewRuntimeKey): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO token (id, kind, hash, preview, note, integration_id, workspace_id, version_id)
         SELECT $1, 'iak', $2, $3, 'Code of the integration', $4, workspace.id, $5
         FROM workspace WHERE workspace.id = $6 FOR KEY SHARE
         ON CONFLICT (hash) DO NOTHING`,
        [newId('iak'), hashToken(token), tokenPreview(token), integrationId, revision, workspaceId],
      );
      await tx.query(
        `UPDATE token SET valid_until = newest.until
         FROM (
           SELECT id, CASE WHEN version_id < max(version_id) OVER () THEN now() + interval '2 minutes' END AS until
           FROM token WHERE integration_id = $1 AND version_id IS NOT NULL) AS newest
         WHERE token.id = newest.id
           AND CASE WHEN newest.until IS NULL THEN valid_until IS NOT NULL ELSE valid_until IS NULL OR version_id = $2 END`,
        [integrationId, revision],
      );
      await tx.query(
        'DELETE FROM token WHERE integration_id = $1 AND version_id IS NOT NULL AND valid_until <= now()',
        [integrationId],
      );
    });
  }
}
