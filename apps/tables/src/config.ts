import { Env, integer } from '@parley/config/config';
import { ServiceConfig, sweepIntervalVariable } from '@parley/service/config';

export class TablesConfig extends ServiceConfig {
  @Env(sweepIntervalVariable)
  sweepIntervalMs = 5_000;

  @Env({
    env: 'TABLES_FIND_TIMEOUT_MS',
    type: integer(100, 9_000),
    about: 'How long finding rows by a filter, an order or groups may take before it is stopped with OperationTimeout.',
  })
  findTimeoutMs = 5_000;
}
