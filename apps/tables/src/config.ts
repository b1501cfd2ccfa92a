import { Env, url } from '@parley/config/config';
import { ServiceConfig, sweepIntervalVariable } from '@parley/service/config';

export class TablesConfig extends ServiceConfig {
  @Env(sweepIntervalVariable)
  sweepIntervalMs = 5_000;

  @Env({
    env: 'FILES_URL',
    type: url('http', 'https'),
    about:
      'Address under which the tables service itself reaches the files service, where `CONTENT_URL` cannot be reached from inside.',
    optional: true,
    defaultText: '`CONTENT_URL`',
  })
  filesUrl?: string;
}
