import { IsInt } from 'class-validator';
import { account } from '../access';
import { ListOf, Nested } from '../fields';
import { operation } from '../operation';
import { PageMeta } from '../paging';
import { PathParam } from '../query-fields';
import {
  Integration,
  IntegrationEntry,
  IntegrationNameAndVersion,
  ListIntegrations,
  OwnerWorkspace,
} from './integrations';

export class HubCounters {
  /** Bots that have the version installed. */
  @IsInt() installs!: number;

  @IsInt() views!: number;
}

export class PublicIntegrationId {
  /** Version id. */
  @PathParam() id!: string;
}

/** Integration as other workspaces see it: without URL, secrets and their names. */
export class PublicIntegration extends Integration {
  @Nested(OwnerWorkspace) ownerWorkspace!: OwnerWorkspace;
  @Nested(HubCounters) meta!: HubCounters;
}

export class PublicIntegrationReply {
  @Nested(PublicIntegration) integration!: PublicIntegration;
}

export class PublicIntegrationEntry extends IntegrationEntry {
  @Nested(HubCounters) meta!: HubCounters;
}

export class PublicIntegrations {
  @ListOf(PublicIntegrationEntry) integrations!: PublicIntegrationEntry[];
  @Nested(PageMeta) meta!: PageMeta;
}

export const publicIntegrations = {
  list: operation({
    subject: 'hub.publicIntegrations.list',
    route: 'GET /v1/admin/hub/integrations',
    summary:
      'Lists public integrations, newest first unless sorted or searched: the highest version of each name that is not a pre-release, or all matching versions when a name, a version or a bot is given.',
    access: account,
    input: ListIntegrations,
    otherBotField: 'installedByBotId',
    output: PublicIntegrations,
  }),
  getById: operation({
    subject: 'hub.publicIntegrations.getById',
    route: 'GET /v1/admin/hub/integrations/{id}',
    summary: 'Gets a public or unlisted version of an integration.',
    access: account,
    input: PublicIntegrationId,
    output: PublicIntegrationReply,
  }),
  get: operation({
    subject: 'hub.publicIntegrations.get',
    route: 'GET /v1/admin/hub/integrations/{name}/{version}',
    summary: 'Gets a public or unlisted integration by name and version.',
    access: account,
    input: IntegrationNameAndVersion,
    output: PublicIntegrationReply,
  }),
};
