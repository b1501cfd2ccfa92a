import { Injectable } from '@nestjs/common';
import { notFound } from '@parley/contracts/errors';
import type {
  GetIntegrationAction,
  GetIntegrationTarget,
  IntegrationAction,
  IntegrationTarget,
} from '@parley/contracts/hub/integration-targets';
import type { CodeTarget } from '@parley/contracts/runner/code';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { SecretBox } from '@parley/secrets/secret-box';
import { enabledOperations } from '../integrations/definition';
import { IntegrationTargetsRepository, type IntegrationTargetRow } from './integration-targets.repository';

const defaultSeconds = 60;

@Injectable()
export class IntegrationTargetsService {
  constructor(
    private readonly targets: IntegrationTargetsRepository,
    private readonly tickets: CodeTickets,
    private readonly box: SecretBox,
  ) {}

  async get({ integrationId }: GetIntegrationTarget): Promise<IntegrationTarget> {
    const row = await this.targets.findTarget(integrationId);
    if (!row) throw notFound('integration', integrationId);
    // That of the chat, which is never called, is empty.
    const secrets = [row.signing_secret, row.previous_signing_secret].filter(Boolean);
    return {
      integrationId,
      url: row.url,
      code: await this.codeOf(integrationId, row),
      isDev: row.dev,
      timeoutMs: (row.max_execution_time ?? defaultSeconds) * 1_000,
      extraOperations: enabledOperations(row.extra_operations),
      signingSecrets: secrets.map((sealed) => this.box.open(sealed!)),
    };
  }

  /** Throws ResourceNotFound for an unknown action. */
  async getAction({ integrationId, action: name }: GetIntegrationAction): Promise<IntegrationAction> {
    const action = await this.targets.findAction(integrationId, name);
    if (!action) throw notFound('action', name);
    return { inputSchema: action.input.schema, outputSchema: action.output.schema };
  }

  private async codeOf(
    id: string,
    { has_code, revision, workspace_id: workspaceId }: IntegrationTargetRow,
  ): Promise<CodeTarget | null> {
    if (!has_code) return null;
    return { revision, ticket: await this.tickets.sign({ ownerId: id, version: revision, revision, workspaceId }) };
  }
}
