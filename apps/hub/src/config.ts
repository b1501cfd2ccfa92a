import { Env } from '@parley/config/config';
import {
  formerSecretKeysVariable,
  operatorWorkspaceVariable,
  secretKeyVariable,
  ServiceConfig,
} from '@parley/service/config';

export class HubConfig extends ServiceConfig {
  @Env(secretKeyVariable) secretKey!: string;
  @Env(formerSecretKeysVariable) formerSecretKeys?: string[];
  @Env(operatorWorkspaceVariable) operatorWorkspaceId?: string;
}
