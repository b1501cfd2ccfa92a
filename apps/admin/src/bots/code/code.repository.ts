import { Injectable } from '@nestjs/common';
import type { StoredCodePart } from '@parley/contracts/runner/code';
import { codePartColumns } from '@parley/persistence/code-part';
import { Database } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import type { DeployedCode } from '@parley/secrets/code-tickets';
import { hashToken, tokenPreview } from '@parley/secrets/token';

interface NewIntegrationKey {
  integrationId: string;
  workspaceId: string;
  revision: string;
  token: string;
}

/** Code of bots, and the keys of bots' and integrations' code. */
@Injectable()
export class CodeRepository {
  constructor(private readonly database: Database) {}

  /** Undefined for an unknown version. Primary keys. */
  async findCodePart(
    { ownerId, version }: DeployedCode,
    offset: number,
    maxBytes: number,
  ): Promise<StoredCodePart | undefined> {
    const [row] = await this.database.query<StoredCodePart>(
      `SELECT ${codePartColumns}
       FROM bot_version JOIN bot_code ON bot_code.bot_id = bot_version.bot_id AND bot_code.hash = code_hash
       WHERE bot_version.bot_id = $1 AND bot_version.id = $2`,
      [ownerId, version, offset, maxBytes],
    );
    return row;
  }

  /** Encrypted secrets of the bot by name. Undefined unless the version is deployed. Primary key. */
  async findSecrets({ ownerId, version }: DeployedCode): Promise<Record<string, string> | undefined> {
    const [row] = await this.database.query<{ secrets: Record<string, string> }>(
      'SELECT secrets FROM bot WHERE id = $1 AND version_id = $2',
      [ownerId, version],
    );
    return row?.secrets;
  }

  /** Stores the hash of the key with which a deployed version calls the API, until another version is deployed. */
  async storeBotKey({ ownerId, version }: DeployedCode, token: string): Promise<void> {
    await this.database.query(
      `INSERT INTO token (id, kind, hash, preview, note, bot_id, version_id)
       SELECT $1, 'bak', $2, $3, 'Code of the bot', id, version_id FROM bot WHERE id = $4 AND version_id = $5 FOR KEY SHARE
       ON CONFLICT (hash) DO UPDATE SET valid_until = NULL`,
      [newId('bak'), hashToken(token), tokenPreview(token), ownerId, version],
    );
  }

  /**
   * Stores the hash of the key with which code of an integration calls the API. Keys of older revisions end two minutes
   * later, and so does this one if a newer key exists. Index token_integration.
   */
  async storeIntegrationKey({ integrationId, workspaceId, revision, token }: NewIntegrationKey): Promise<void> {
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
