import { Injectable } from '@nestjs/common';
import type { CodeSecrets, SealCodeSecrets, SealedCodeSecrets } from '@parley/contracts/runner/code';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { sealFor } from '@parley/secrets/sealed-box';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { runtimeKey } from '@parley/secrets/token';
import { CodeRepository } from './code.repository';

/** Digits of a revision, so that texts of revisions compare as their numbers. */
const revisionDigits = 16;

@Injectable()
export class RuntimeKeysService {
  private readonly keys: [Buffer, ...Buffer[]];
  private readonly tickets: CodeTickets;

  constructor(
    private readonly code: CodeRepository,
    keys: SecretKeys,
  ) {
    this.keys = keys.derive('runtime-keys');
    this.tickets = new CodeTickets(keys, 'integration-code-tickets');
  }

  /** Idempotent: the same key for the same revision. The hub has signed the ticket. */
  async issue({ ticket, publicKey }: SealCodeSecrets): Promise<SealedCodeSecrets> {
    const deployed = await this.tickets.verify(ticket);
    const { ownerId: integrationId, workspaceId } = deployed;
    const revision = deployed.version.padStart(revisionDigits, '0');
    const token = runtimeKey('iak', this.keys[0], integrationId, revision);
    await this.code.storeIntegrationKey({ integrationId, workspaceId, revision, token });
    const secrets: Pick<CodeSecrets, 'token'> = { token };
    return { sealed: sealFor(publicKey, deployed, JSON.stringify(secrets)) };
  }
}
