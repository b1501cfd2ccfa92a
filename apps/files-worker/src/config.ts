import { FileStoreConfig } from '../../files/src/store/config';

export class FilesWorkerConfig extends FileStoreConfig {
  /** Attempts after which a file becomes `indexing_failed`. Tests choose another number. */
  indexingAttempts = 10;

  /** Interval of the heartbeats of a worker that indexes a file. Tests choose another. */
  heartbeatMs = 2_500;
}
