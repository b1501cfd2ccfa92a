import { Injectable } from '@nestjs/common';
import type { ActionDefinition } from '@parley/contracts/definition';
import type { IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import type { StoredCodePart } from '@parley/contracts/runner/code';
import { codePartColumns } from '@parley/persistence/code-part';
import { Database } from '@parley/persistence/database';
import type { IntegrationEntity } from '../integrations/integration.entity';

export interface IntegrationTargetRow extends Pick<
  IntegrationEntity,
  'workspace_id' | 'url' | 'dev' | 'has_code' | 'max_execution_time' | 'signing_secret'
> {
  /** Milliseconds: changes with the code, and with everything else. Text: a `bigint`. */
  revision: string;
  previous_signing_secret: string | null;
  extra_operations: IntegrationDefinition['extraOperations'];
}

export interface SecretsRow extends Pick<IntegrationEntity, 'secrets'> {
  revision: string;
}

const revision = 'floor(extract(epoch FROM updated_at) * 1000)::bigint';

@Injectable()
export class IntegrationTargetsRepository {
  constructor(private readonly database: Database) {}

  /** Primary key. */
  async findTarget(id: string): Promise<IntegrationTargetRow | undefined> {
    const [row] = await this.database.query<IntegrationTargetRow>(
      `SELECT workspace_id, url, dev, has_code, max_execution_time, signing_secret, ${revision} AS revision,
         CASE WHEN previous_signing_secret_until > now() THEN previous_signing_secret END AS previous_signing_secret,
         definition -> 'extraOperations' AS extra_operations
       FROM integration WHERE id = $1`,
      [id],
      'integration_target',
    );
    return row;
  }

  /** Primary key. */
  async findAction(id: string, name: string): Promise<ActionDefinition | undefined> {
    const [row] = await this.database.query<{ action: ActionDefinition | null }>(
      `SELECT definition -> 'actions' -> $2::text AS action FROM integration WHERE id = $1`,
      [id, name],
    );
    return row?.action ?? undefined;
  }

  /** Undefined when the integration has changed since. Primary keys. */
  async findCodePart(
    id: string,
    expectedRevision: string,
    offset: number,
    maxBytes: number,
  ): Promise<StoredCodePart | undefined> {
    const [row] = await this.database.query<StoredCodePart>(
      `SELECT ${codePartColumns}
       FROM integration_code JOIN integration ON id = integration_id
       WHERE id = $1 AND ${revision} = $2`,
      [id, expectedRevision, offset, maxBytes],
    );
    return row;
  }

  /** Encrypted secrets by name. Primary key. */
  async findSecrets(id: string): Promise<SecretsRow | undefined> {
    const [row] = await this.database.query<SecretsRow>(
      `SELECT secrets, ${revision} AS revision FROM integration WHERE id = $1`,
      [id],
    );
    return row;
  }
}
