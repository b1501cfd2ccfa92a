import { Env, text } from '@parley/config/config';
import { formerSecretKeysVariable, secretKeyVariable, ServiceConfig } from '@parley/service/config';

export class HubConfig extends ServiceConfig {
  @Env(secretKeyVariable)
  secretKey!: string;

  @Env(formerSecretKeysVariable)
  formerSecretKeys?: string[];

  @Env({
    env: 'HUB_OPERATOR_WORKSPACE_ID',
    type: text('the id of a workspace, `wkspace_…`', /^wkspace_[0-9A-HJKMNP-TV-Z]{26}$/),
    about: 'Workspace that may publish interfaces under the names of the built-in ones.',
    optional: true,
    defaultText: 'the workspace created at the very first start',
  })
  operatorWorkspaceId?: string;
}
