import { IsBoolean, IsIn, IsInt, IsNumber, IsString, Max, MaxLength, Min } from 'class-validator';
import { bot } from '../access';
import { StreamedAnswer } from '../answer-streams';
import { JsonObject, JsonObjects, JsonValue, ListOf, MapOf, Nested, Nullable, Optional } from '../fields';
import { operation } from '../operation';
import { QueryBoolean } from '../query-fields';
import { modelAnswers } from './model-answers';

/** Bytes of a request with pictures and sounds as data URIs. */
export const maxBodyBytes = 32_000_000;
export const bodyLimitHint = 'Pass pictures and sounds by their URL.';
/** Below the time for which the broker permits the answer to a request. */
export const generationTimeoutMs = 280_000;

const any = { maxBytes: maxBodyBytes };

export class GenerationOptions {
  @Nullable() @IsBoolean() debug?: boolean | null;

  /** Neither reads nor writes the cache of equal requests. */
  @Nullable() @IsBoolean() skipCache?: boolean | null;

  /** Idempotency key: a repeated request returns the stored answer, for 24 hours. */
  @Nullable() @IsString() @MaxLength(200) requestId?: string | null;

  /** Milliseconds until the first token: a slower provider is given up for the next one. */
  @Nullable() @IsInt() @Min(1) maxTimeToFirstToken?: number | null;

  /** Model that hears the audio of messages, where the model of the answer does not. */
  @Nullable() @IsString() @MaxLength(200) transcriptionModel?: string | null;
}

export class GenerationMeta {
  @Nullable() @IsString() promptSource?: string | null;
  @Nullable() @IsString() promptCategory?: string | null;
  @Nullable() @IsString() integrationName?: string | null;

  /** `conversationId` and `eventId` lead from the conversation and the event to this call. */
  @Nullable() @JsonObject() metadata?: Record<string, unknown> | null;
}

export class GenerateText {
  /** `{ role, content, type?, toolCalls?, toolResultCallId? }`, oldest first. */
  @JsonObjects({ minItems: 1, maxItems: 10_000 }) messages!: Record<string, unknown>[];

  /** `auto` (default), `best`, `fast`, `<provider>:<model>`, or a list in order of preference. */
  @Optional() @JsonValue() model?: unknown;

  @Nullable() @IsNumber() @Min(0) @Max(2) temperature?: number | null;
  @Nullable() @IsNumber() @Min(0) @Max(1) topP?: number | null;

  /** Longest answer, in tokens. */
  @Nullable() @IsInt() @Min(1) maxTokens?: number | null;

  /** Text or list of texts that end the answer. */
  @Optional() @JsonValue() stopSequences?: unknown;

  /** `text` or `json`. */
  @Optional() @JsonValue() responseFormat?: unknown;

  @Nullable() @IsString() reasoningEffort?: string | null;
  @Optional() @JsonValue() search?: unknown;

  /** Put before the messages. */
  @Nullable() @IsString() systemPrompt?: string | null;

  @Optional() @JsonValue(any) tools?: unknown;
  @Nullable() @JsonObject() toolControl?: Record<string, unknown> | null;
  @Nullable() @JsonObject() toolChoice?: Record<string, unknown> | null;
  @Nested(GenerationOptions, { nullable: true }) options?: GenerationOptions | null;
  @Nested(GenerationMeta, { nullable: true }) meta?: GenerationMeta | null;
}

export class ModelUsage {
  @IsInt() inputTokens!: number;

  /** US dollars, as are all costs; 0 without prices. */
  @IsNumber() inputCost!: number;

  @IsInt() outputTokens!: number;
  @IsNumber() outputCost!: number;
}

export const warningTypes = [
  'parameter_ignored',
  'provider_limitation',
  'deprecated_model',
  'discontinued_model',
  'fallback_used',
  'timeout',
] as const;

export class ModelWarning {
  @IsIn(warningTypes) type!: (typeof warningTypes)[number];
  @IsString() message!: string;
}

export const stopReasons = ['stop', 'max_tokens', 'content_filter', 'tool_calls', 'other'] as const;
export type StopReason = (typeof stopReasons)[number];

/** Transcription of the audio in the messages. */
export class PartsTranscription {
  /** `<provider>:<model>`. */
  @IsString() model!: string;

  @IsString() provider!: string;

  /** In addition to the cost of the text. */
  @IsNumber() cost!: number;

  @IsNumber() durationSeconds!: number;

  /** Number of audio parts. */
  @IsInt() parts!: number;
}

export class GenerationMetadata {
  @IsString() provider!: string;

  /** `<provider>:<model>`. */
  @IsString() model!: string;

  @Nested(ModelUsage) usage!: ModelUsage;
  @IsNumber() cost!: number;
  @Optional() @IsString() requestId?: string;

  /** Whether the answer is that of an equal request before. */
  @IsBoolean() cached!: boolean;

  /** Milliseconds. */
  @IsInt() latency!: number;

  /** Milliseconds until the first token of a stream. */
  @Optional() @IsInt() ttft?: number;

  @IsIn(stopReasons) stopReason!: StopReason;
  @Optional() @IsString() reasoningEffort?: string;
  @Optional() @ListOf(ModelWarning) warnings?: ModelWarning[];

  /** Models that failed before this one answered. */
  @Optional() @JsonValue() fallbackPath?: string[];

  @Optional() @Nested(PartsTranscription) transcription?: PartsTranscription;

  /** Whether the tokens were counted here, because the provider did not count them. */
  @Optional() @IsBoolean() estimated?: boolean;
}

export class ModelToolCall {
  @IsString() id!: string;
  @IsString() name!: string;
  @JsonObject() input!: Record<string, unknown>;
}

export class GeneratedText {
  @IsString() output!: string;
  @Optional() @IsString() reasoning?: string;
  @Optional() @ListOf(ModelToolCall) toolCalls?: ModelToolCall[];
  @Nested(GenerationMetadata) metadata!: GenerationMetadata;
}

export class ListLanguageModels {
  @QueryBoolean() includeDeprecated?: boolean;
}

export class ModelPricing {
  @IsInt() maxTokens!: number;
  @IsNumber() costPer1MTokens!: number;
  @Optional() @IsNumber() costPerMinute?: number;
}

export class LanguageModel {
  /** `<provider>:<model>`. */
  @IsString() id!: string;

  @IsString() name!: string;
  @IsString() description!: string;
  @JsonValue() aliases!: string[];
  @JsonValue() tags!: string[];
  @IsIn(['production', 'preview', 'deprecated', 'discontinued']) lifecycle!: string;
  @Nested(ModelPricing) input!: ModelPricing;
  @Nested(ModelPricing) output!: ModelPricing;
  @MapOf(Boolean) capabilities!: Record<string, boolean>;
}

export class LanguageModels {
  @ListOf(LanguageModel) models!: LanguageModel[];
}

const generation = {
  access: bot.write,
  isOwn: true,
  input: GenerateText,
  output: GeneratedText,
  timeoutMs: generationTimeoutMs,
  bodyLimitBytes: maxBodyBytes,
  bodyLimitHint,
  answers: modelAnswers,
};

/** Wire of `@botpress/cognitive`. */
export const cognitive = {
  generateText: operation({
    ...generation,
    subject: 'models.cognitive.generateText',
    route: 'POST /v2/cognitive/generate-text',
    summary: 'Generates text with a language model.',
  }),
  generateTextStream: operation({
    ...generation,
    output: StreamedAnswer,
    subject: 'models.cognitive.generateTextStream',
    route: 'POST /v2/cognitive/generate-text-stream',
    summary: 'Generates text, and streams it as JSON lines: the last one has the metadata.',
  }),
  listModels: operation({
    subject: 'models.cognitive.listModels',
    route: 'GET /v2/cognitive/models',
    summary: 'Lists the language models of the configured providers.',
    access: bot.read,
    isOwn: true,
    input: ListLanguageModels,
    output: LanguageModels,
  }),
};
