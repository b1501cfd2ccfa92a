import { Injectable } from '@nestjs/common';
import { mapEntries } from '@parley/contracts/entries';
import { notFound } from '@parley/contracts/errors';
import {
  type CodePart,
  codePart,
  type CodeSecrets,
  type GetCodePart,
  maxCodePartBytes,
  type SealCodeSecrets,
  type SealedCodeSecrets,
} from '@parley/contracts/runner/code';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { sealFor } from '@parley/secrets/sealed-box';
import { SecretBox } from '@parley/secrets/secret-box';
import { IntegrationTargetsRepository } from './integration-targets.repository';

/** Code and secrets of integrations, for the runners that run them. */
@Injectable()
export class IntegrationCodeService {
  constructor(
    private readonly targets: IntegrationTargetsRepository,
    private readonly tickets: CodeTickets,
    private readonly box: SecretBox,
  ) {}

  /** Throws ResourceNotFound when the integration was changed meanwhile. */
  async getPart({ ticket, offset }: GetCodePart): Promise<CodePart> {
    const { ownerId, version } = await this.tickets.verify(ticket);
    const part = await this.targets.findCodePart(ownerId, version, offset, maxCodePartBytes);
    if (part === undefined) throw notFound('code of integration', ownerId);
    return codePart(part, offset);
  }

  /** Throws ResourceNotFound when the integration was changed meanwhile. */
  async sealSecrets({ ticket, publicKey }: SealCodeSecrets): Promise<SealedCodeSecrets> {
    const deployed = await this.tickets.verify(ticket);
    const row = await this.targets.findSecrets(deployed.ownerId);
    if (row?.revision !== deployed.version) throw notFound('code of integration', deployed.ownerId);
    const secrets: Pick<CodeSecrets, 'secrets'> = { secrets: mapEntries(row.secrets, (value) => this.box.open(value)) };
    return { sealed: sealFor(publicKey, deployed, JSON.stringify(secrets)) };
  }
}
