import { Env, text } from '@parley/config/config';
import { FileStoreConfig } from '../../files/src/store/config';

export class FilesWorkerConfig extends FileStoreConfig {
  /** Attempts after which a file becomes `indexing_failed`. Tests choose another number. */
  indexingAttempts = 10;

  /** Interval of the heartbeats of a worker that indexes a file. Tests choose another. */
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
