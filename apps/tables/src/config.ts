import { Env, integer, url } from '@parley/config/config';
import { completionsApiKeyVariable, completionsTimeoutVariable, completionsUrlVariable } from '@parley/openai/config';
import { PassagesConfig } from '@parley/passages/config';

export class TablesConfig extends PassagesConfig {
  @Env({
    env: 'TABLES_FIND_TIMEOUT_MS',
    type: integer(100, 9_000),
    about: 'Timeout in milliseconds of a query for rows (filter, order or groups). It ends with OperationTimeout.',
  })
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

  @Env(completionsUrlVariable) completionsUrl?: string;
  @Env(completionsApiKeyVariable) completionsApiKey?: string;

  @Env(completionsTimeoutVariable) completionsTimeoutMs = 60_000;
}
