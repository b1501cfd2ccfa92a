import { Injectable } from '@nestjs/common';
import { mapEntries } from '@parley/contracts/entries';
import { ApiError } from '@parley/contracts/errors';
import type {
  FallbackAnswer,
  RequireSharedWebhook,
  RoutedWebhook,
  SharedWebhook,
} from '@parley/contracts/hub/shared-webhooks';
import type { Empty } from '@parley/contracts/paging';
import type { WebhookRequest } from '@parley/contracts/runtime/webhooks';
import { decodedSegment } from '@parley/contracts/path-segment';
import { SecretBox } from '@parley/secrets/secret-box';
import { identifierOf, responseOf } from '@parley/vrl/results';
import { VrlScriptsService } from '../scripts/vrl-scripts.service';
import { IntegrationsService } from '../integrations/integrations.service';
import { type SharedIntegration, SharedWebhooksRepository } from './shared-webhooks.repository';

/** Shared webhooks of integrations: one address of an app of another service, for all bots that installed it. */
@Injectable()
export class SharedWebhooksService {
  constructor(
    private readonly integrations: SharedWebhooksRepository,
    private readonly named: IntegrationsService,
    private readonly scripts: VrlScriptsService,
    private readonly box: SecretBox,
  ) {}

  /** Throws ResourceNotFound without an integration of the name, and for one without scripts: nothing would answer. */
  async require({ path }: RequireSharedWebhook): Promise<Empty> {
    const integration = await this.findIntegration(path);
    if (integration?.extract_script || integration?.fallback_script) return {};
    const name = integration?.name ?? nameIn(path);
    const missing = new ApiError('ResourceNotFound', `No integration "${name}" has a shared webhook.`);
    throw integration ? missing : await this.named.missing(missing, name);
  }

  async route({ path, request }: SharedWebhook): Promise<RoutedWebhook> {
    const integration = await this.findIntegration(path);
    if (!integration) return { family: null, path: '/', identifier: null };
    const { name, workspace_id, extract_script: script } = integration;
    const rest = restOf(path, name);
    return {
      family: `${workspace_id}/${name}`,
      path: rest,
      identifier: identifierOf(await this.run(integration, script, { ...request, path: rest })) ?? null,
    };
  }

  async answer({ path, request }: SharedWebhook): Promise<FallbackAnswer> {
    const integration = await this.findIntegration(path);
    if (!integration) return {};
    const rest = restOf(path, integration.name);
    const result = await this.run(integration, integration.fallback_script, { ...request, path: rest });
    return { answer: responseOf(result) };
  }

  /** Names have one part, or two with the handle of a workspace. */
  private findIntegration(path: string): Promise<SharedIntegration | undefined> {
    const [first = '', second] = path.split('/').map(decodedSegment);
    return this.integrations.findByName(second === undefined ? [first] : [first, `${first}/${second}`]);
  }

  /**
   * Undefined without a script, and for a script with an error: no request fails because of it. Throws a 503 for a script
   * that cannot be run at present, because the sender repeats the request then.
   */
  private async run(
    { workspace_id: workspaceId, secrets }: SharedIntegration,
    script: string | null,
    { method, path, query, headers, body = '' }: WebhookRequest,
  ): Promise<unknown> {
    if (!script) return undefined;
    const opened = mapEntries(secrets, (sealed) => this.box.open(sealed));
    const data = { method, path, query, headers, body, secrets: opened };
    const done = await this.scripts.execute(workspaceId, { script, data });
    return done.problem === undefined ? done.result : undefined;
  }
}

function nameIn(path: string): string {
  return decodedSegment(path.split('/')[0]!);
}

function restOf(path: string, name: string): string {
  const parts = path.split('/').slice(name.split('/').length);
  return `/${parts.join('/')}`;
}
