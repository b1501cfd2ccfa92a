import { Env, integer, text } from '@parley/config/config';
import { FileStoreConfig } from '@parley/file-store/config';

export class FilesWorkerConfig extends FileStoreConfig {
  @Env({
    env: 'INDEXING_ATTEMPTS',
    type: integer(1, 100),
    about: 'Attempts after which a file becomes `indexing_failed`.',
  })
  indexingAttempts = 10;

  @Env({
    env: 'INDEXING_HEARTBEAT_MS',
    type: integer(50, 5_000),
    about: 'Interval of the heartbeats of a worker that indexes a file.',
  })
  heartbeatMs = 2_500;

  @Env({
    env: 'COMPLETIONS_MODEL_INEXPENSIVE',
    type: text(),
    about: 'Model for summaries of files with `modelType: inexpensive`.',
  })
  completionsModelInexpensive = 'gpt-4.1-nano';

  @Env({
    env: 'COMPLETIONS_MODEL_BALANCED',
    type: text(),
    about:
      'Model for summaries of files with `modelType: balanced`, and for `parsing.smartCleanup` and `parsing.mode: agent`.',
  })
  completionsModelBalanced = 'gpt-4.1-mini';

  @Env({
    env: 'COMPLETIONS_MODEL_ACCURATE',
    type: text(),
    about: 'Model for summaries of files with `modelType: accurate`.',
  })
  completionsModelAccurate = 'gpt-4.1';

  @Env({
    env: 'COMPLETIONS_MODEL_VISION',
    type: text(),
    about: 'Model that reads rendered pages of PDF files with `vision`.',
  })
  completionsModelVision = 'gpt-4.1-mini';
}
