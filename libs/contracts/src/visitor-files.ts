import { IsInt, IsString } from 'class-validator';
import { service } from './access';
import { Optional } from './fields';
import { consumer, operation } from './operation';
import { subjectErased } from './chat/erased-subjects';

/** Bytes. */
export const maxVisitorFileBytes = 10_000_000;

/** Files that a user may declare within an hour. */
export const maxVisitorFilesPerHour = 50;

/** File that an end user sends to a bot. The chat service has checked user and conversation. */
export class DeclareVisitorFile {
  @IsString() botId!: string;
  @IsString() workspaceId!: string;

  /** Quota storage_count of the workspace, in bytes. */
  @IsInt() storageQuota!: number;

  @IsString() userId!: string;
  @IsString() conversationId!: string;
  @IsString() name!: string;
  @IsInt() size!: number;
  @Optional() @IsString() contentType?: string;
}

export class VisitorFile {
  @IsString() id!: string;

  /** Permanent URL of the content. Everybody who knows it can read the file. */
  @IsString() url!: string;

  /** Signed URL that accepts the content by HTTP PUT without further credentials, for one hour. */
  @IsString() uploadUrl!: string;

  /** Media type, which the PUT must have. */
  @IsString() contentType!: string;
}

export const eraseVisitorFiles = consumer({ name: 'files.eraseVisitorFiles', event: subjectErased, concurrency: 4 });

export const visitorFiles = {
  declare: operation({
    subject: 'files.visitorFiles.declare',
    summary: 'Declares a file of an end user, within limits for users and for the storage of the workspace.',
    access: service,
    input: DeclareVisitorFile,
    output: VisitorFile,
  }),
};
