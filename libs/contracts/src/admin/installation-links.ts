import { IsString } from 'class-validator';
import { operator, workspace } from '../access';
import { Nullable } from '../fields';
import { operation } from '../operation';
import { InstalledAlias } from './registrations';

/** Neither field has a value if the integration has no script for this type of configuration. */
export class InstallationLink {
  /** Address that connects the installation with an account of the other service, to be opened by a person. */
  @Nullable() @IsString() link!: string | null;

  /** Why the script made no link. */
  @Nullable() @IsString() problem!: string | null;
}

export const installationLinks = {
  get: operation({
    subject: 'admin.installationLinks.get',
    route: 'GET /v1/admin/bots/{botId}/integrations/{alias}/link',
    summary: 'Makes the link that connects an installation with the other service, by the script of its integration.',
    access: workspace.read,
    isOwn: true,
    input: InstalledAlias,
    output: InstallationLink,
  }),
  getOfAnyBot: operation({
    subject: 'admin.installationLinks.getOfAnyBot',
    route: 'GET /operator/admin/bots/{botId}/integrations/{alias}/link',
    summary: 'Makes the link that connects an installation of any bot, by the script of its integration.',
    access: operator,
    input: InstalledAlias,
    output: InstallationLink,
  }),
};
