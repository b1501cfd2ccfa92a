import { parseJson } from './response';
import type { CompletionsConfig } from './config';
import { type OpenAiServer, post } from './post';
import { ServerBusy, ServerRefused, ServerUnavailable } from './server-errors';

const maxResponseBytes = 1024 * 1024;

export class CompletionsBusy extends ServerBusy {
  override readonly name = 'CompletionsBusy';
}

/** Permanent: the server rejects this question, or no server is configured. A retry would not help. */
export class CompletionsRefused extends ServerRefused {
  override readonly name = 'CompletionsRefused';
}

export class CompletionsUnavailable extends ServerUnavailable {
  override readonly name = 'CompletionsUnavailable';
}

export interface CompletionRequest {
  model: string;
  system: string;
  prompt: string;
  image?: Uint8Array;
  /** Maximum length of the answer, in tokens of the model. */
  maxTokens?: number;
}

/** Client of any server with an OpenAI-compatible `POST /v1/chat/completions`. Never retries: the caller decides. */
export class Completions {
  constructor(private readonly config: CompletionsConfig) {}

  /** Answer of the model. Throws CompletionsBusy, CompletionsRefused or CompletionsUnavailable. */
  async complete(request: CompletionRequest, signal?: AbortSignal): Promise<string> {
    const { model, system, prompt, image, maxTokens } = request;
    const input = {
      model,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: image ? withImage(prompt, image) : prompt },
      ],
      ...(maxTokens && { max_completion_tokens: maxTokens }),
    };
    return contentOf(await post(this.server(), 'chat/completions', input, signal));
  }

  private server(): OpenAiServer {
    const { completionsUrl: url, completionsApiKey: apiKey, completionsTimeoutMs: timeoutMs } = this.config;
    if (!url)
      throw new CompletionsRefused(
        'No completion server is configured: set COMPLETIONS_URL to an OpenAI-compatible server.',
      );
    const errors = { Busy: CompletionsBusy, Refused: CompletionsRefused, Unavailable: CompletionsUnavailable };
    return { name: 'completion server', url, apiKey, timeoutMs, maxResponseBytes: maxResponseBytes, errors };
  }
}

function withImage(prompt: string, image: Uint8Array): object[] {
  const url = `data:image/png;base64,${Buffer.from(image.buffer, image.byteOffset, image.byteLength).toString('base64')}`;
  return [
    { type: 'text', text: prompt },
    { type: 'image_url', image_url: { url } },
  ];
}

function contentOf(body: string): string {
  const answer = parseJson(body) as { choices?: { message?: { content?: unknown } }[] } | null;
  const content = Array.isArray(answer?.choices) ? answer.choices[0]?.message?.content : undefined;
  if (typeof content !== 'string') {
    throw new CompletionsUnavailable('The completion server answered with something that is not a completion.');
  }
  return content.trim();
}
