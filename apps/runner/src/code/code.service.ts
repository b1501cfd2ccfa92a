import { Injectable } from '@nestjs/common';
import { botCode, type BotCodePart, type BotSecrets } from '@parley/contracts/admin/bot-code';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import { LRUCache } from 'lru-cache';
import { RunnerConfig } from '../config';

/** Fetches code and secrets from admin. Keeps code in memory, and secrets nowhere. */
@Injectable()
export class CodeService {
  private readonly known: LRUCache<string, string, string>;

  constructor(
    private readonly client: ParleyClient,
    { codeCacheMb }: RunnerConfig,
  ) {
    this.known = new LRUCache({
      maxSize: codeCacheMb * 2 ** 20,
      sizeCalculation: (code) => code.length + 1,
      fetchMethod: (_revision, _stale, { context: ticket }) => this.fetchCode(ticket),
    });
  }

  /** Concurrent calls for one revision share a request. Throws ResourceNotFound when the version is gone. */
  async getCode(revision: string, ticket: string): Promise<string> {
    return (await this.known.fetch(revision, { context: ticket }))!;
  }

  /** Throws ResourceNotFound when another version was deployed meanwhile. */
  getSecrets(ticket: string): Promise<BotSecrets> {
    return this.client.call(botCode.getSecrets, systemCaller(newId('req')), { ticket });
  }

  private async fetchCode(ticket: string): Promise<string> {
    const parts: string[] = [];
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const part: BotCodePart = await this.client.call(botCode.getPart, systemCaller(newId('req')), { ticket, offset });
      parts.push(part.text);
      offset = part.nextOffset;
    }
    return parts.join('');
  }
}
