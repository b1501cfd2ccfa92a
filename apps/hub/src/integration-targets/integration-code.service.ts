import { Injectable } from '@nestjs/common';
import { runtimeKeys } from '@parley/contracts/admin/runtime-keys';
import { systemCaller } from '@parley/contracts/caller';
import { mapEntries } from '@parley/contracts/entries';
import { notFound } from '@parley/contracts/errors';
import {
  type CodePart,
  codePart,
  type CodeSecrets,
  type GetCodePart,
  type GetCodeSecrets,
  maxCodePartLength,
} from '@parley/contracts/runner/code';
import { newId } from '@parley/persistence/ids';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { SecretBox } from '@parley/secrets/secret-box';
import { ParleyClient } from '@parley/transport/parley-client';
import { IntegrationTargetsRepository } from './integration-targets.repository';

/** Code, key and secrets of integrations, for the runners that call them. */
@Injectable()
export class IntegrationCodeService {
  constructor(
    private readonly targets: IntegrationTargetsRepository,
    private readonly tickets: CodeTickets,
    private readonly box: SecretBox,
    private readonly client: ParleyClient,
  ) {}

  /** Throws ResourceNotFound when the integration was changed meanwhile. */
  async getPart({ ticket, offset }: GetCodePart): Promise<CodePart> {
    const { ownerId, version } = await this.tickets.verify(ticket);
    const text = await this.targets.findCodePart(ownerId, version, offset, maxCodePartLength);
    if (text === undefined) throw notFound('code of integration', ownerId);
    return codePart(text, offset);
  }

  /** Throws ResourceNotFound when the integration was changed meanwhile. */
  async getSecrets({ ticket }: GetCodeSecrets): Promise<CodeSecrets> {
    const { ownerId, version } = await this.tickets.verify(ticket);
    const row = await this.targets.findSecrets(ownerId);
    if (row?.revision !== version) throw notFound('code of integration', ownerId);
    const { token } = await this.client.call(runtimeKeys.issue, systemCaller(newId('req')), {
      integrationId: ownerId,
      workspaceId: row.workspace_id,
      revision: Number(version),
    });
    return { token, secrets: mapEntries(row.secrets, (value) => this.box.open(value)) };
  }
}
