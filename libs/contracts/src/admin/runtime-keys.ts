import { IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { operation } from '../operation';

export class IssueRuntimeKey {
  /** Version id. */
  @IsString() integrationId!: string;

  /** Workspace that owns the integration. */
  @IsString() workspaceId!: string;

  /** Increases with each change of the code or of its secrets. Keys of older revisions end two minutes later. */
  @IsInt() revision!: number;
}

/** Decrypted: never logged. */
export class RuntimeKey {
  @IsString() token!: string;
}

export const runtimeKeys = {
  issue: operation({
    subject: 'admin.runtimeKeys.issue',
    summary: 'Issues the API key with which the code of an integration calls the API.',
    access: service,
    input: IssueRuntimeKey,
    output: RuntimeKey,
  }),
};
