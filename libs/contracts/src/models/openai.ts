import { IsBoolean, IsInt, IsString, Length, Min } from 'class-validator';
import { bot } from '../access';
import { Checked, JsonObject, JsonObjects, ListOf, Nullable, Open } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { generationTimeoutMs } from './cognitive';
import { modelAnswers } from './model-answers';

const maxBodyBytes = 32_000_000;

/** Body of OpenAI's chat completions. Other fields reach the provider unchanged. */
@Open()
export class CreateChatCompletion {
  /** As in `generate-text`: `auto`, `best`, `fast` or the name of a model. */
  @IsString() @Length(1, 200) model!: string;

  @JsonObjects({ minItems: 1, maxItems: 10_000 }) messages!: Record<string, unknown>[];

  /** Server-sent events that end with `data: [DONE]`. */
  @Nullable() @IsBoolean() stream?: boolean | null;

  @Nullable() @JsonObject() stream_options?: Record<string, unknown> | null;

  /** Longest answer, in tokens. `max_tokens` is its former name. */
  @Nullable() @IsInt() @Min(1) max_completion_tokens?: number | null;
  @Nullable() @IsInt() @Min(1) max_tokens?: number | null;
}

@Open()
export class ChatCompletion {
  @IsString() id!: string;
  @JsonObjects({ minItems: 0, maxItems: 128 }) choices!: Record<string, unknown>[];
}

@Open()
export class CreateEmbeddings {
  @IsString() @Length(1, 200) model!: string;

  /** Text, list of texts, or lists of tokens. */
  @Checked({
    convert: (value) => value,
    problem: (value) =>
      typeof value === 'string' || (Array.isArray(value) && value.length > 0)
        ? undefined
        : 'must be a text or a list of texts',
    schema: { oneOf: [{ type: 'string' }, { type: 'array', items: {}, minItems: 1 }] },
  })
  input!: string | unknown[];
}

@Open()
export class Embeddings {
  @JsonObjects({ minItems: 0, maxItems: 10_000 }) data!: Record<string, unknown>[];
}

@Open()
export class OpenAiModel {
  @IsString() id!: string;
  @IsString() object!: string;
  @IsInt() created!: number;
  @IsString() owned_by!: string;
}

export class OpenAiModels {
  @IsString() object!: string;
  @ListOf(OpenAiModel) data!: OpenAiModel[];
}

const common = { access: bot.writeOfKey, isOwn: true, errorFormat: 'openai' as const };
const generation = {
  ...common,
  timeoutMs: generationTimeoutMs,
  bodyLimitBytes: maxBodyBytes,
  answers: modelAnswers,
};

/** The API of OpenAI, for the SDKs of other vendors within bots. */
export const openAi = {
  createChatCompletion: operation({
    ...generation,
    subject: 'models.openAi.createChatCompletion',
    route: 'POST /v1/ai/chat/completions',
    summary: "Generates text, with request and response of OpenAI's chat completions.",
    input: CreateChatCompletion,
    output: ChatCompletion,
  }),
  createEmbeddings: operation({
    ...generation,
    subject: 'models.openAi.createEmbeddings',
    route: 'POST /v1/ai/embeddings',
    summary: "Embeds texts, with request and response of OpenAI's embeddings.",
    input: CreateEmbeddings,
    output: Embeddings,
  }),
  listModels: operation({
    ...common,
    access: bot.readOfKey,
    subject: 'models.openAi.listModels',
    route: 'GET /v1/ai/models',
    summary: "Lists the models, in the format of OpenAI's API.",
    input: Empty,
    output: OpenAiModels,
  }),
};
