import { Injectable } from '@nestjs/common';
import {
  type BotCodePart,
  type BotSecrets,
  type GetBotCode,
  type GetBotSecrets,
  maxCodePartLength,
} from '@parley/contracts/admin/bot-code';
import { mapEntries } from '@parley/contracts/entries';
import { notFound } from '@parley/contracts/errors';
import { SecretBox } from '@parley/secrets/secret-box';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { runtimeKey } from '@parley/secrets/token';
import { BotCodeRepository } from './bot-code.repository';
import { CodeTicketsService } from './code-tickets.service';

/** Code, key and secrets of bots, for the runners that call them. */
@Injectable()
export class BotCodeService {
  private readonly keys: [Buffer, ...Buffer[]];

  constructor(
    private readonly code: BotCodeRepository,
    private readonly tickets: CodeTicketsService,
    private readonly box: SecretBox,
    keys: SecretKeys,
  ) {
    this.keys = keys.derive('runtime-keys');
  }

  async getPart({ ticket, offset }: GetBotCode): Promise<BotCodePart> {
    const deployed = await this.tickets.verify(ticket);
    const text = await this.code.findCodePart(deployed, offset, maxCodePartLength);
    if (text === undefined) throw notFound('bot version', deployed.versionId);
    // The length in Postgres counts code points.
    const length = text.length < maxCodePartLength ? text.length : Array.from(text).length;
    return length < maxCodePartLength ? { text } : { text, nextOffset: offset + maxCodePartLength };
  }

  /** Throws ResourceNotFound when another version was deployed meanwhile. */
  async getSecrets({ ticket }: GetBotSecrets): Promise<BotSecrets> {
    const deployed = await this.tickets.verify(ticket);
    const sealed = await this.code.findSecrets(deployed);
    if (!sealed) throw notFound('deployed bot version', deployed.versionId);
    const token = runtimeKey(this.keys[0], deployed.botId, deployed.versionId);
    await this.code.storeRuntimeKey(deployed, token);
    return { token, secrets: mapEntries(sealed, (value) => this.box.open(value)) };
  }
}
