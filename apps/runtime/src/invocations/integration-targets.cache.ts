import { Injectable } from '@nestjs/common';
import { type InstallationTarget, targets } from '@parley/contracts/admin/targets';
import { systemCaller } from '@parley/contracts/caller';
import { type IntegrationTarget, integrationTargets } from '@parley/contracts/hub/integration-targets';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import type { InstalledTarget } from './integration.client';

const maxEntries = 10_000;
const ttlMs = 1_000;

/**
 * Read-through cache of installations, which admin owns, and of integrations, which the hub owns. At most one second old.
 * Concurrent reads share a request.
 */
@Injectable()
export class IntegrationTargetsCache {
  private readonly installations: LRUCache<string, InstallationTarget>;
  private readonly webhooks: LRUCache<string, InstallationTarget>;
  private readonly integrations: LRUCache<string, IntegrationTarget>;

  constructor(private readonly client: ParleyClient) {
    const options = { ...atMostEntries(maxEntries), ttl: ttlMs, ignoreFetchAbort: true };
    this.installations = new LRUCache({
      ...options,
      fetchMethod: (key) => {
        const [botId, ...alias] = key.split('/');
        return client.call(targets.getInstallation, newCaller(), { botId: botId!, alias: alias.join('/') });
      },
    });
    this.webhooks = new LRUCache({
      ...options,
      fetchMethod: (webhookId) => client.call(targets.findInstallation, newCaller(), { webhookId }),
    });
    this.integrations = new LRUCache({
      ...options,
      fetchMethod: (integrationId) => client.call(integrationTargets.get, newCaller(), { integrationId }),
    });
  }

  /** Throws ResourceNotFound for an unknown bot, alias, or version of an integration. */
  async getByAlias(botId: string, alias: string): Promise<InstalledTarget> {
    return this.withIntegration((await this.installations.fetch(`${botId}/${alias}`))!);
  }

  /** Throws ResourceNotFound for an unknown webhook or version of an integration. */
  async getByWebhookId(webhookId: string): Promise<InstalledTarget> {
    return this.withIntegration((await this.webhooks.fetch(webhookId))!);
  }

  /** Throws ResourceNotFound if no installation has the identifier. The installation is not cached. */
  async getByIdentifier(family: string, identifier: string): Promise<InstalledTarget> {
    return this.withIntegration(
      await this.client.call(targets.identifyInstallation, newCaller(), { family, identifier }),
    );
  }

  /** Not cached: an installation as it is now. */
  async getNow(botId: string, named: { alias: string } | { removedId: string }): Promise<InstalledTarget> {
    const installation = await this.client.call(targets.getInstallation, newCaller(), { botId, ...named });
    const { integrationId } = installation;
    const integration = await this.client.call(integrationTargets.get, newCaller(), { integrationId });
    return { installation, integration };
  }

  private async withIntegration(installation: InstallationTarget): Promise<InstalledTarget> {
    return { installation, integration: (await this.integrations.fetch(installation.integrationId))! };
  }
}

function newCaller() {
  return systemCaller(newId('req'));
}
