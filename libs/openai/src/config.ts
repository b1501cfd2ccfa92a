import { integer, text, url, type VariableOptions } from '@parley/config/config';

export interface CompletionsConfig {
  completionsUrl?: string;
  completionsApiKey?: string;
  completionsTimeoutMs: number;
}

export const completionsUrlVariable: VariableOptions<string> = {
  env: 'COMPLETIONS_URL',
  type: url('http', 'https'),
  about:
    'Server with an OpenAI-compatible `/v1/chat/completions`, for computed columns with the action `ai`, which show an error without it, and for `summarization`, `vision`, `parsing.smartCleanup` and `parsing.mode: agent` of files, which are refused without it.',
  optional: true,
};

export const completionsApiKeyVariable: VariableOptions<string> = {
  env: 'COMPLETIONS_API_KEY',
  type: text(),
  about: 'API key of the completion server.',
  optional: true,
};

export const completionsTimeoutVariable: VariableOptions<number> = {
  env: 'COMPLETIONS_TIMEOUT_MS',
  need: 'rarely',
  type: integer(100, 600_000),
  about: 'Timeout in milliseconds of a request to the completion server.',
};
