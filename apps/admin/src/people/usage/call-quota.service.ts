import { Injectable } from '@nestjs/common';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { AdminConfig } from '../../config';
import { quotaOf, unlimited } from './quota-amounts';
import { thisMonth } from './quotas.service';
import { UsageRepository } from './usage.repository';

const maxWorkspaces = 10_000;
const ttlMs = 1_000;

/** Quota invocation_calls. Usage is read only if there is a limit, at most once a second and workspace. */
@Injectable()
export class CallQuotaService {
  private readonly used: LRUCache<string, number>;

  constructor(
    private readonly config: AdminConfig,
    usage: UsageRepository,
  ) {
    this.used = new LRUCache({
      ...atMostEntries(maxWorkspaces),
      ttl: ttlMs,
      fetchMethod: async (id) => {
        const workspace = { id, workspace_id: id, bot_id: '' };
        const [amount] = await usage.listAmounts([workspace], ['invocation_calls'], thisMonth());
        return amount!.value;
      },
    });
  }

  get callsPerMonth(): number {
    return quotaOf(this.config, 'invocation_calls');
  }

  async isUsedUp(workspaceId: string): Promise<boolean> {
    if (this.callsPerMonth >= unlimited) return false;
    return (await this.used.fetch(workspaceId))! >= this.callsPerMonth;
  }
}
