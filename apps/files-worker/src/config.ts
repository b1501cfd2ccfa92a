import { Env, integer } from '@parley/config/config';
import { FileStoreConfig } from '@parley/file-store/config';

export class FilesWorkerConfig extends FileStoreConfig {
  @Env({ env: 'INDEXING_ATTEMPTS', type: integer(1, 100), about: 'Tries after which a file is `indexing_failed`.' })
  indexingAttempts = 10;

  @Env({ env: 'INDEXING_HEARTBEAT_MS', type: integer(50, 5_000), about: 'How often a worker shows that it is alive.' })
  heartbeatMs = 2_500;
}
