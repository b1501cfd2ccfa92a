import { IsIn, IsInt, IsString, Length, MaxLength, Min } from 'class-validator';
import { service } from '../access';
import { Optional } from '../fields';
import { operation } from '../operation';
import { generationTimeoutMs } from './cognitive';
import { modelAnswers } from './model-answers';

/** Characters of a picture in base64: above the largest page that is rendered. */
const maxPictureLength = 32_000_000;

export const textPurposes = ['computed-column', 'parsing', 'summary', 'vision'] as const;
export type TextPurpose = (typeof textPurposes)[number];

/** Question of a service. The bot of the caller pays, within the budgets of the bot and of the caller's workspace. */
export class AskForText {
  /** Recorded with the call. */
  @IsIn(textPurposes) purpose!: TextPurpose;

  /** `auto`, `best`, `fast`, `vision`, or the name of a model. */
  @IsString() @Length(1, 200) model!: string;

  @IsString() system!: string;
  @IsString() prompt!: string;

  /** PNG in base64. */
  @Optional() @IsString() @MaxLength(maxPictureLength) picture?: string;

  /** Longest answer, in tokens. */
  @Optional() @IsInt() @Min(1) maxTokens?: number;
}

export class TextAnswer {
  @IsString() text!: string;
}

export const texts = {
  /**
   * Errors: InvalidPayload is permanent, QuotaExceeded is a used-up budget, and 503 with `metadata.reason` says that the providers
   * are `busy` or have `failed`. Every other 503 comes from the way to them.
   */
  generate: operation({
    subject: 'models.texts.generate',
    summary: 'Generates a text for another service, without the cache of equal requests.',
    access: service,
    input: AskForText,
    output: TextAnswer,
    timeoutMs: generationTimeoutMs,
    answers: modelAnswers,
  }),
};
