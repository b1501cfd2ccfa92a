import { Injectable } from '@nestjs/common';
import type { InstallationTarget } from '@parley/contracts/admin/targets';
import type { IntegrationTarget } from '@parley/contracts/hub/integration-targets';
import { CalleeClient } from './callee.client';
import { integrationHeaders } from './call-headers';
import type { CalleeAnswer, Invocation } from './invocation';

/** Installation of a bot, and the version of the integration that serves it. */
export interface InstalledTarget {
  installation: InstallationTarget;
  integration: IntegrationTarget;
}

/** Calls integrations for the bots that have them installed. */
@Injectable()
export class IntegrationClient {
  constructor(private readonly callees: CalleeClient) {}

  /** Throws as `CalleeClient.call`. */
  invoke({ installation, integration }: InstalledTarget, invocation: Invocation): Promise<CalleeAnswer> {
    const { botId, workspaceId, isBotBlocked: isBlocked, callsPerMonth, isOverQuota } = installation;
    const { integrationId: ownerId, url, code, signingSecrets } = integration;
    return this.callees.call(
      {
        ...{ owner: 'integration', ownerId, botId, workspaceId, url, code },
        ...{ isBlocked, signingSecrets, callsPerMonth, isOverQuota },
      },
      integrationHeaders(installation, invocation),
      invocation,
    );
  }
}
