import { IsString, Length, MaxLength } from 'class-validator';
import { anyone, workspace } from '../access';
import { ListOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, Text } from '../paging';
import { PathParam, QueryString } from '../query-fields';
import { BotId } from './bots';

export class BotVersion {
  @IsString() id!: string;

  /** For a version that a code change has created: the time of its creation. */
  @IsString() name!: string;

  @Optional() @IsString() description?: string;
}

export class BotVersions {
  @ListOf(BotVersion) versions!: BotVersion[];

  /** Version whose code runs. Absent without code. */
  @Optional() @IsString() deployedId?: string;
}

export class CreateBotVersion extends BotId {
  @IsString() @Length(1, 200) name!: string;
  @Optional() @IsString() @MaxLength(2000) description?: string;
}

export class BotVersionReply {
  @Nested(BotVersion) version!: BotVersion;
}

export class BotVersionId extends BotId {
  @PathParam() versionId!: string;
}

export class BotVersionUrl {
  /** Signed URL, valid for 15 minutes without further credentials. */
  @IsString() url!: string;
}

export class DownloadBotVersion extends BotVersionId {
  @QueryString({ required: true }) expires!: string;
  @QueryString({ required: true }) signature!: string;
}

export class DeployBotVersion extends BotId {
  @IsString() versionId!: string;
}

export const botVersions = {
  list: operation({
    subject: 'admin.botVersions.list',
    route: 'GET /v1/admin/bots/{id}/versions',
    summary: 'Lists the versions of the code of a bot, newest first.',
    access: workspace.read,
    input: BotId,
    output: BotVersions,
  }),
  get: operation({
    subject: 'admin.botVersions.get',
    route: 'GET /v1/admin/bots/{id}/versions/{versionId}',
    summary: 'Gets a signed URL that downloads the code of a version, valid for 15 minutes.',
    access: workspace.read,
    input: BotVersionId,
    output: BotVersionUrl,
  }),
  create: operation({
    subject: 'admin.botVersions.create',
    route: 'POST /v1/admin/bots/{id}/versions',
    summary: 'Creates a named version from the current code of a bot.',
    access: workspace.write,
    input: CreateBotVersion,
    output: BotVersionReply,
  }),
  deploy: operation({
    subject: 'admin.botVersions.deploy',
    route: 'POST /v1/admin/bots/{id}/versions/deploy',
    summary: 'Deploys a version: the bot runs its code from now on.',
    access: workspace.write,
    input: DeployBotVersion,
    output: Empty,
  }),
  download: operation({
    subject: 'admin.botVersions.download',
    route: 'GET /v1/admin/bots/{id}/versions/{versionId}/code',
    summary: 'Downloads the code of a version by its signed URL.',
    access: anyone,
    input: DownloadBotVersion,
    output: Text,
    contentType: 'text/javascript; charset=utf-8',
    timeoutMs: 30_000,
  }),
};
