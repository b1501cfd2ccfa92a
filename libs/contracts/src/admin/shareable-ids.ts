import { IsBoolean, IsString } from 'class-validator';
import { workspace } from '../access';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam, QueryString } from '../query-fields';

export class InstallationPath {
  @PathParam() botId!: string;

  /** Version id. */
  @PathParam() integrationId!: string;

  /** Alias of the installation; optional when the bot has installed the integration once. */
  @QueryString({ maxLength: 200 }) integrationInstanceAlias?: string;
}

export class NewShareableId {
  @IsString() shareableId!: string;
}

export class ShareableId extends NewShareableId {
  @IsBoolean() isExpired!: boolean;
}

const path = '/v1/admin/bots/{botId}/integrations/{integrationId}/shareable-id' as const;

export const shareableIds = {
  create: operation({
    subject: 'admin.shareableIds.create',
    route: `POST ${path}`,
    summary: 'Creates a shareable id of an installation, valid for 24 hours. It replaces the previous one.',
    access: workspace.write,
    input: InstallationPath,
    output: NewShareableId,
  }),
  get: operation({
    subject: 'admin.shareableIds.get',
    route: `GET ${path}`,
    summary: 'Gets the shareable id of an installation, even if it has expired.',
    access: workspace.read,
    input: InstallationPath,
    output: ShareableId,
  }),
  delete: operation({
    subject: 'admin.shareableIds.delete',
    route: `DELETE ${path}`,
    summary: 'Deletes the shareable id of an installation.',
    access: workspace.write,
    input: InstallationPath,
    output: Empty,
  }),
};
