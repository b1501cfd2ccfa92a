import { IsBoolean, IsInt, IsNumber, IsString } from 'class-validator';
import { bot } from '../access';
import { ListOf, Nested, Optional, OrNull } from '../fields';
import { operation } from '../operation';
import { PageMeta, PageQuery } from '../paging';
import { QueryBoolean, QueryString } from '../query-fields';

export class ListModelCalls extends PageQuery {
  @QueryString({ maxLength: 200 }) conversationId?: string;
  @QueryString({ maxLength: 200 }) eventId?: string;

  /** With prompts and answers, if they are kept. A page then has at most 10 calls. */
  @QueryBoolean() contents?: boolean;
}

/** Request of a bot to a model. */
export class ModelCall {
  @IsString() id!: string;
  @IsString() createdAt!: string;

  /** `chat`, `embeddings`, `transcription`, `image`, `speech`, or that of a service that asked for the bot. */
  @IsString() kind!: string;

  /** Names of the models that the request asks for, in order of preference. */
  @IsString() wantedModel!: string;

  /** `<provider>:<model>`. Null if none has answered. */
  @OrNull() @IsString() model!: string | null;

  @OrNull() @IsString() provider!: string | null;
  @Optional() @IsString() conversationId?: string;
  @Optional() @IsString() eventId?: string;
  @Optional() @IsString() traceId?: string;
  @IsInt() inputTokens!: number;
  @IsInt() outputTokens!: number;

  /** US dollars; 0 without prices. */
  @IsNumber() cost!: number;

  /** Whether tokens or duration were estimated, because the provider did not count them. */
  @IsBoolean() estimated!: boolean;

  @IsBoolean() cached!: boolean;

  /** Number of models that failed before. */
  @IsInt() fallbacks!: number;

  /** Milliseconds. */
  @IsInt() latency!: number;

  /** Milliseconds until the first token of a stream. */
  @Optional() @IsInt() ttft?: number;

  /** Stop reason, or `error`. */
  @IsString() finish!: string;

  @Optional() @IsString() error?: string;

  /** JSON text of the request in OpenAI's format, cut after 256,000 characters. */
  @Optional() @IsString() prompt?: string;

  /** JSON text of the answer, cut after 256,000 characters. */
  @Optional() @IsString() answer?: string;
}

export class ModelCalls {
  @ListOf(ModelCall) calls!: ModelCall[];
  @Nested(PageMeta) meta!: PageMeta;
}

/** Records of the calls of models, for 30 days. */
export const modelCalls = {
  list: operation({
    subject: 'models.calls.list',
    route: 'GET /v1/ai/calls',
    summary: 'Lists the calls of models by the bot, newest first.',
    access: bot.read,
    isOwn: true,
    input: ListModelCalls,
    output: ModelCalls,
  }),
};
