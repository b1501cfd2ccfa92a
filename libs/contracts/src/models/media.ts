import { IsBoolean, IsIn, IsInt, IsNumber, IsString, Length, Matches, Max, MaxLength, Min } from 'class-validator';
import { bot } from '../access';
import { StreamedAnswer } from '../answer-streams';
import { maxLifetimeDays } from '../files';
import { JsonObject, JsonValue, ListOf, Nested, Nullable, Optional } from '../fields';
import { operation } from '../operation';
import { QueryString } from '../query-fields';
import { bodyLimitHint, generationTimeoutMs, maxBodyBytes } from './cognitive';
import { modelAnswers } from './model-answers';
import { genders } from './providers';

/** Bytes of audio that is transcribed. */
export const maxHeardBytes = 25_000_000;
/** Bytes of a generated picture, and of generated audio. */
export const maxPictureBytes = 10_000_000;
export const maxAudioBytes = 20_000_000;
export const defaultExpirationDays = 30;

export const audioFormats = ['mp3', 'opus', 'wav'] as const;
export type AudioFormat = (typeof audioFormats)[number];
export const pictureFormats = ['png', 'jpeg'] as const;
export type PictureFormat = (typeof pictureFormats)[number];

export class MediaOptions {
  @Nullable() @IsBoolean() debug?: boolean | null;
  @Nullable() @IsBoolean() skipCache?: boolean | null;

  /** Returned with the answer. */
  @Nullable() @IsString() @MaxLength(200) requestId?: string | null;

  /** Days until the stored file expires; 30 if absent. */
  @Nullable() @IsInt() @Min(1) @Max(maxLifetimeDays) expirationDays?: number | null;
}

class MediaRequest {
  /** `<provider>:<model>`, or a list in order of preference. Absent, or `auto`: the configured model. */
  @Optional() @JsonValue() model?: unknown;

  @Nested(MediaOptions, { nullable: true }) options?: MediaOptions | null;

  /** As of `generateText`. */
  @Nullable() @JsonObject() meta?: Record<string, unknown> | null;
}

export class TranscribeAudio extends MediaRequest {
  /** Address that is open to the public, or data URI; at most 25 MB of audio. */
  @IsString() @Length(1, maxBodyBytes) url!: string;

  @Nullable() @IsString() @MaxLength(200) mimeType?: string | null;
}

class MediaMetadata {
  @IsString() provider!: string;

  /** `<provider>:<model>`. */
  @IsString() model!: string;

  /** US dollars; 0 without prices. */
  @IsNumber() cost!: number;

  /** Milliseconds. */
  @IsInt() latency!: number;

  @IsBoolean() cached!: boolean;
  @Optional() @IsString() requestId?: string;

  /** Models that failed before this one answered. */
  @Optional() @JsonValue() fallbackPath?: string[];
}

export class TranscriptionMetadata extends MediaMetadata {
  /** As the provider counts it, else our estimate. */
  @IsNumber() durationSeconds!: number;
}

export class Transcription {
  @IsString() output!: string;
  @Nested(TranscriptionMetadata) metadata!: TranscriptionMetadata;
}

export class GenerateImage extends MediaRequest {
  @IsString() @Length(1, 32_000) prompt!: string;

  /** Pixels such as `1024x1024`, or a ratio such as `16:9`. */
  @Nullable()
  @IsString()
  @Matches(/^[1-9]\d{0,3}[x:][1-9]\d{0,3}$/, {
    message: '$property must be pixels such as 1024x1024, or a ratio such as 16:9',
  })
  size?: string | null;

  @Nullable() @IsIn(['low', 'medium', 'high', 'auto']) quality?: 'low' | 'medium' | 'high' | 'auto' | null;
  @Nullable() @IsIn(pictureFormats) format?: PictureFormat | null;
}

export class ImageMetadata extends MediaMetadata {
  @IsString() size!: string;
  @Optional() @IsString() quality?: string;
  @IsString() format!: string;
}

export class ImageOutput {
  /** Address of a public file of the bot. */
  @IsString() imageUrl!: string;
}

export class GeneratedImage {
  @Nested(ImageOutput) output!: ImageOutput;
  @Nested(ImageMetadata) metadata!: ImageMetadata;
}

export class GenerateAudio extends MediaRequest {
  @IsString() @Length(1, 100_000) input!: string;

  /** Absent: the first voice of the model. */
  @Nullable() @IsString() @Length(1, 200) voice?: string | null;

  @Nullable() @IsIn(audioFormats) format?: AudioFormat | null;
  @Nullable() @IsNumber() @Min(0.25) @Max(4) speed?: number | null;
  @Nullable() @IsString() @MaxLength(10_000) instructions?: string | null;

  /** Ignored: the models hear the language of the text. */
  @Nullable() @IsString() @MaxLength(35) language?: string | null;
}

export class AudioMetadata extends MediaMetadata {
  @IsString() voice!: string;
  @IsString() format!: string;
  @IsInt() characterCount!: number;
  @Optional() @IsNumber() durationSeconds?: number;
}

export class AudioOutput {
  /** Address of a public file of the bot. */
  @IsString() audioUrl!: string;
}

export class GeneratedAudio {
  @Nested(AudioOutput) output!: AudioOutput;
  @Nested(AudioMetadata) metadata!: AudioMetadata;
}

export class ListVoices {
  /** Model with or without its provider. */
  @QueryString() model?: string;

  /** Language tag: `pt` also finds `pt-BR`. */
  @QueryString() language?: string;
}

export class Voice {
  @IsString() id!: string;
  @IsString() displayName!: string;
  @IsString() provider!: string;
  @Optional() @IsIn(genders) gender?: (typeof genders)[number];
  @Optional() @IsString() description?: string;
  @Optional() @JsonValue() languages?: string[];

  /** Without the provider. */
  @JsonValue() models!: string[];
}

export class Voices {
  @ListOf(Voice) voices!: Voice[];
}

const common = { access: bot.write, isOwn: true, timeoutMs: generationTimeoutMs, answers: modelAnswers };

/** Wire of `@botpress/cognitive`: models that hear, draw and speak. */
export const media = {
  transcribeAudio: operation({
    ...common,
    subject: 'models.media.transcribeAudio',
    route: 'POST /v2/cognitive/transcribe-audio',
    summary: 'Transcribes speech.',
    input: TranscribeAudio,
    output: Transcription,
    bodyLimitBytes: maxBodyBytes,
    bodyLimitHint,
  }),
  generateImage: operation({
    ...common,
    subject: 'models.media.generateImage',
    route: 'POST /v2/cognitive/generate-image',
    summary: 'Generates a picture, and stores it as a public file of the bot.',
    input: GenerateImage,
    output: GeneratedImage,
    storedField: 'imageUrl',
  }),
  generateAudio: operation({
    ...common,
    subject: 'models.media.generateAudio',
    route: 'POST /v2/cognitive/generate-audio',
    summary: 'Speaks a text, and stores the audio as a public file of the bot.',
    input: GenerateAudio,
    output: GeneratedAudio,
    storedField: 'audioUrl',
  }),
  generateAudioStream: operation({
    ...common,
    subject: 'models.media.generateAudioStream',
    route: 'POST /v2/cognitive/generate-audio-stream',
    summary: 'Speaks a text, and streams the audio as JSON lines: the last one has the address of the stored file.',
    input: GenerateAudio,
    output: StreamedAnswer,
    storedField: 'audioUrl',
  }),
  listVoices: operation({
    subject: 'models.media.listVoices',
    route: 'GET /v2/cognitive/voices',
    summary: 'Lists the voices of the configured models.',
    access: bot.read,
    isOwn: true,
    input: ListVoices,
    output: Voices,
  }),
};
