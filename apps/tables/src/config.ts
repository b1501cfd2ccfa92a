import { Env } from '@parley/config/config';
import { ServiceConfig, sweepIntervalVariable } from '@parley/service/config';

export class TablesConfig extends ServiceConfig {
  @Env(sweepIntervalVariable)
  sweepIntervalMs = 5_000;
}
