import { Env } from '@parley/config/config';
import { secretKeyVariable, ServiceConfig } from '@parley/service/config';

export class HubConfig extends ServiceConfig {
  @Env(secretKeyVariable)
  secretKey!: string;
}
