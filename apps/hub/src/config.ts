import { Env } from '@parley/config/config';
import {
  formerSecretKeysVariable,
  operatorWorkspaceVariable,
  secretKeyVariable,
  ServiceConfig,
  strictDeployVariable,
} from '@parley/service/config';

export class HubConfig extends ServiceConfig {
  @Env(secretKeyVariable) secretKey!: string;
  @Env(formerSecretKeysVariable) formerSecretKeys?: string[];
  @Env(operatorWorkspaceVariable) operatorWorkspaceId?: string;
  @Env(strictDeployVariable) strictDeploy: 'true' | 'false' = 'false';
}
