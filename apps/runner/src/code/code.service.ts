import { Injectable } from '@nestjs/common';
import { botCode } from '@parley/contracts/admin/bot-code';
import { systemCaller } from '@parley/contracts/caller';
import { integrationCode } from '@parley/contracts/hub/integration-targets';
import type { CodePart, CodeSecrets } from '@parley/contracts/runner/code';
import type { InvokeCode } from '@parley/contracts/runner/runner';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import { LRUCache } from 'lru-cache';

const maxCachedBytes = 128 * 2 ** 20;

type Bundle = Pick<InvokeCode, 'owner' | 'ownerId' | 'codeRevision' | 'ticket'>;

/** Fetches code and secrets from the services that own them. Keeps code in memory, and secrets nowhere. */
@Injectable()
export class CodeService {
  private readonly known: LRUCache<string, string, Bundle>;

  constructor(private readonly client: ParleyClient) {
    this.known = new LRUCache({
      maxSize: maxCachedBytes,
      sizeCalculation: (code) => code.length + 1,
      fetchMethod: (_revision, _stale, { context: bundle }) => this.fetchCode(bundle),
    });
  }

  /** Concurrent calls for one revision share a request. Throws ResourceNotFound when the version is gone. */
  async getCode(bundle: Bundle): Promise<string> {
    return (await this.known.fetch(`${bundle.ownerId}/${bundle.codeRevision}`, { context: bundle }))!;
  }

  /** Throws ResourceNotFound when another version was deployed meanwhile. */
  getSecrets({ owner, ticket }: Bundle): Promise<CodeSecrets> {
    const caller = systemCaller(newId('req'));
    return owner === 'bot'
      ? this.client.call(botCode.getSecrets, caller, { ticket })
      : this.client.call(integrationCode.getSecrets, caller, { ticket });
  }

  private async fetchCode(bundle: Bundle): Promise<string> {
    const parts: string[] = [];
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const part = await this.fetchPart(bundle, offset);
      parts.push(part.text);
      offset = part.nextOffset;
    }
    return parts.join('');
  }

  private fetchPart({ owner, ticket }: Bundle, offset: number): Promise<CodePart> {
    const caller = systemCaller(newId('req'));
    return owner === 'bot'
      ? this.client.call(botCode.getPart, caller, { ticket, offset })
      : this.client.call(integrationCode.getPart, caller, { ticket, offset });
  }
}
