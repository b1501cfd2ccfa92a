import { Env, integer, text, url } from '@parley/config/config';
import { PassagesConfig } from '@parley/passages/config';
import { sweepIntervalVariable } from '@parley/service/config';

export class TablesConfig extends PassagesConfig {
  @Env(sweepIntervalVariable)
  sweepIntervalMs = 5_000;

  @Env({
    env: 'TABLES_FIND_TIMEOUT_MS',
    type: integer(100, 9_000),
    about: 'How long finding rows by a filter, an order or groups may take before it is stopped with OperationTimeout.',
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

  @Env({
    env: 'COMPLETIONS_URL',
    type: url('http', 'https'),
    about:
      'Server with an OpenAI-compatible `/v1/chat/completions`, for computed columns with the action `ai`. Without it they show an error.',
    optional: true,
  })
  completionsUrl?: string;

  @Env({ env: 'COMPLETIONS_API_KEY', type: text(), about: 'Key of the completion server.', optional: true })
  completionsApiKey?: string;

  @Env({
    env: 'COMPLETIONS_TIMEOUT_MS',
    type: integer(100, 600_000),
    about: 'How long the completion server may take for one answer.',
  })
  completionsTimeoutMs = 60_000;

  @Env({
    env: 'TABLE_WORK_LEASE_MS',
    type: integer(500, 600_000),
    about: 'How long a process that computes or indexes rows of a table may be silent before another one takes over.',
  })
  workLeaseMs = 15_000;
}
