import { Env, integer, text, url } from '@parley/config/config';
import { egressAllowPrivateVariable } from '@parley/egress/config';
import { formerSecretKeysVariable, secretKeyVariable, ServiceConfig } from '@parley/service/config';

const modelOf = (role: string, others: string) =>
  `Model that answers as ${role}${others}. Absent, or not available at the server: the first model that it lists.`;

export class ModelsConfig extends ServiceConfig {
  @Env(secretKeyVariable) secretKey!: string;
  @Env(formerSecretKeysVariable) formerSecretKeys?: string[];

  @Env({
    env: 'COMPLETIONS_URL',
    type: url('http', 'https'),
    about:
      'Server with an OpenAI-compatible `/v1/chat/completions` that answers bots, computed columns with the action `ai`, and `summarization`, `vision`, `parsing.smartCleanup` and `parsing.mode: agent` of files.',
    optional: true,
  })
  completionsUrl?: string;

  @Env({ env: 'COMPLETIONS_API_KEY', type: text(), about: 'API key of the completion server.', optional: true })
  completionsApiKey?: string;

  @Env({
    env: 'COMPLETIONS_TIMEOUT_MS',
    need: 'rarely',
    type: integer(100, 600_000),
    about:
      'Longest wait in milliseconds for the first byte of the completion server, and for each further one. A call of a table or a file takes at most 270 s in all.',
  })
  completionsTimeoutMs = 60_000;

  @Env({
    env: 'COMPLETIONS_MODEL_INEXPENSIVE',
    type: text(),
    about: modelOf('`fast`', ', and for summaries of files with `modelType: inexpensive`'),
  })
  completionsModelInexpensive = 'gpt-4.1-nano';

  @Env({
    env: 'COMPLETIONS_MODEL_BALANCED',
    type: text(),
    about: modelOf('`auto`', ', for computed columns whose model no provider has, and for texts of files'),
  })
  completionsModelBalanced = 'gpt-4.1-mini';

  @Env({
    env: 'COMPLETIONS_MODEL_ACCURATE',
    type: text(),
    about: modelOf('`best`', ', and for summaries of files with `modelType: accurate`'),
  })
  completionsModelAccurate = 'gpt-4.1';

  @Env({
    env: 'COMPLETIONS_MODEL_VISION',
    type: text(),
    about: modelOf('`vision`', ' and reads rendered pages of PDF files'),
  })
  completionsModelVision = 'gpt-4.1-mini';

  @Env({
    env: 'COMPLETIONS_MODEL_TRANSCRIPTION',
    type: text(),
    about: 'Model of `COMPLETIONS_URL` that transcribes speech, such as `whisper-1`.',
    optional: true,
  })
  completionsModelTranscription?: string;

  @Env({
    env: 'COMPLETIONS_MODEL_IMAGE',
    type: text(),
    about: 'Model of `COMPLETIONS_URL` that generates pictures, such as `gpt-image-1`.',
    optional: true,
  })
  completionsModelImage?: string;

  @Env({
    env: 'COMPLETIONS_MODEL_SPEECH',
    type: text(),
    about: 'Model of `COMPLETIONS_URL` that speaks, such as `tts-1`.',
    optional: true,
  })
  completionsModelSpeech?: string;

  @Env({
    env: 'COMPLETIONS_PROVIDERS_FILE',
    type: text('a path'),
    about: 'JSON file with several providers of language models: see docs/models.md. It replaces `COMPLETIONS_URL`.',
    optional: true,
  })
  completionsProvidersFile?: string;

  @Env({
    env: 'COMPLETIONS_SCRIPT_FILE',
    type: text('a path'),
    about:
      'JSON file with fixed answers: a provider without a model, for tests and tutorials. It replaces `COMPLETIONS_URL`.',
    optional: true,
  })
  completionsScriptFile?: string;

  @Env({
    env: 'COMPLETIONS_MAX_TOKENS',
    type: integer(1, 10_000_000),
    about:
      'Longest answer in tokens of a request that names no limit, where a budget applies and the model has no limit of its own.',
  })
  completionsMaxTokens = 8_192;

  @Env({
    env: 'COMPLETIONS_CACHE_SECONDS',
    type: integer(0, 2_592_000),
    about: 'Seconds for which an equal request of a bot gets the same answer; 0 turns the cache off.',
  })
  completionsCacheSeconds = 3_600;

  @Env(egressAllowPrivateVariable) egressAllowPrivate?: 'true' | 'false';
}
