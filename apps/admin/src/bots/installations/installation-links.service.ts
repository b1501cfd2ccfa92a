import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { InstallationLink } from '@parley/contracts/admin/installation-links';
import type { InstalledAlias } from '@parley/contracts/admin/registrations';
import type { Caller } from '@parley/contracts/caller';
import { notFound } from '@parley/contracts/errors';
import { linkScripts } from '@parley/contracts/hub/link-scripts';
import { webhookBaseOf } from '@parley/service/config';
import { ParleyClient } from '@parley/transport/parley-client';
import { BotVisibilityService } from '../../people/access/bot-visibility.service';
import { AdminConfig } from '../../config';
import { InstallationsRepository } from './installations.repository';
import { ShareableIdsRepository } from './shareable-ids.repository';

/** Link scripts choose the app that is registered with their service by it. */
const environment = 'production';

/** Links that connect installations. They are made on demand: most installations are read often and connected once. */
@Injectable()
export class InstallationLinksService {
  constructor(
    private readonly botVisibility: BotVisibilityService,
    private readonly installations: InstallationsRepository,
    private readonly shareableIds: ShareableIdsRepository,
    private readonly client: ParleyClient,
    private readonly config: AdminConfig,
  ) {}

  async get(caller: WorkspaceCaller, input: InstalledAlias): Promise<InstallationLink> {
    await this.botVisibility.requireVisible(caller, input.botId);
    return this.getOfAnyBot(caller, input);
  }

  async getOfAnyBot(caller: Caller, { botId, alias }: InstalledAlias): Promise<InstallationLink> {
    const installation = await this.installations.findByAlias(botId, alias);
    if (!installation) throw notFound('installation', alias);
    const shareable = await this.shareableIds.findByAlias(botId, alias);
    return this.client.call(linkScripts.run, caller, {
      integrationId: installation.integration_id,
      configurationType: installation.configuration_type,
      data: {
        env: environment,
        webhookId: installation.webhook_id,
        webhookUrl: webhookBaseOf(this.config),
        ...(shareable && !shareable.isExpired ? { shareableId: shareable.id } : {}),
      },
    });
  }
}
