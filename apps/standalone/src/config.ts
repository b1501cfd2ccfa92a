import { Env, text, url } from '@parley/config/config';
import type { LogLevel } from '@parley/logging/logger';
import { ProcessConfig } from '@parley/service/config';

export class StandaloneConfig extends ProcessConfig {
  @Env({
    env: 'PARLEY_DATA_DIR',
    type: text('a folder'),
    about: 'Data folder of the embedded mode: database, contents, keys and credentials.',
  })
  dataDir = '.parley';

  @Env({
    env: 'PUBLIC_URL',
    need: 'always',
    type: url('http', 'https'),
    about: 'URL at which clients reach the platform.',
    optional: true,
    defaultText: '`http://HOST:PORT`',
  })
  publicUrl?: string;

  override logLevel: LogLevel = 'warn';
}
