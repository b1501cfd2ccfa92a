import { Env, text, url } from '@parley/config/config';
import type { LogLevel } from '@parley/logging/logger';
import { ProcessConfig } from '@parley/service/config';

export class StandaloneConfig extends ProcessConfig {
  @Env({ env: 'PARLEY_DATA_DIR', type: text('a folder'), about: 'Folder that the embedded mode keeps everything in.' })
  dataDir = '.parley';

  @Env({
    env: 'PUBLIC_URL',
    type: url('http', 'https'),
    about: 'Address under which clients reach the platform.',
    optional: true,
    defaultText: '`http://HOST:PORT`',
  })
  publicUrl?: string;

  override logLevel: LogLevel = 'warn';
}
