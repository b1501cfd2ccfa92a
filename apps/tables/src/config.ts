import { Env } from '@parley/config/config';
import { PassagesConfig } from '@parley/passages/config';
import { sweepIntervalVariable } from '@parley/service/config';

export class TablesConfig extends PassagesConfig {
  @Env(sweepIntervalVariable)
  sweepIntervalMs = 5_000;
}
