import { Injectable } from '@nestjs/common';
import {
  codePart,
  type CodePart,
  type CodeSecrets,
  type GetCodePart,
  maxCodePartBytes,
  type SealCodeSecrets,
  type SealedCodeSecrets,
} from '@parley/contracts/runner/code';
import { mapEntries } from '@parley/contracts/entries';
import { notFound } from '@parley/contracts/errors';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { sealFor } from '@parley/secrets/sealed-box';
import { SecretBox } from '@parley/secrets/secret-box';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { runtimeKey } from '@parley/secrets/token';
import { CodeRepository } from './code.repository';

/** Code, key and secrets of bots, for the runners that run them. */
@Injectable()
export class BotCodeService {
  private readonly keys: [Buffer, ...Buffer[]];

  constructor(
    private readonly code: CodeRepository,
    private readonly tickets: CodeTickets,
    private readonly box: SecretBox,
    keys: SecretKeys,
  ) {
    this.keys = keys.derive('runtime-keys');
  }

  async getPart({ ticket, offset }: GetCodePart): Promise<CodePart> {
    const deployed = await this.tickets.verify(ticket);
    const part = await this.code.findCodePart(deployed, offset, maxCodePartBytes);
    if (part === undefined) throw notFound('bot version', deployed.version);
    return codePart(part, offset);
  }

  /** Throws ResourceNotFound when another version was deployed meanwhile. */
  async sealSecrets({ ticket, publicKey }: SealCodeSecrets): Promise<SealedCodeSecrets> {
    const deployed = await this.tickets.verify(ticket);
    const stored = await this.code.findSecrets(deployed);
    if (!stored) throw notFound('deployed bot version', deployed.version);
    const token = runtimeKey('bak', this.keys[0], deployed.ownerId, deployed.version);
    await this.code.storeBotKey(deployed, token);
    const secrets: CodeSecrets = { token, secrets: mapEntries(stored, (value) => this.box.open(value)) };
    return { sealed: sealFor(publicKey, deployed, JSON.stringify(secrets)) };
  }
}
