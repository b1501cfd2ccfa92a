import { Env, url } from '@parley/config/config';
import { PassagesConfig } from '@parley/passages/config';

export class TablesConfig extends PassagesConfig {
  /** Timeout of a query for rows (filter, order or groups). It ends with OperationTimeout. Tests choose another. */
  findTimeoutMs = 5_000;

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
