import { IsBoolean, IsIn, IsInt, IsString } from 'class-validator';
import { Optional } from './fields';
import type { AnswerStreams } from './operation';

/** Characters that may be on their way to the receiver of a stream. */
export const answerWindow = 256_000;
/** Longest silence of either side of a stream, in milliseconds. */
export const answerSilenceMs = 15_000;
/** Interval of frames without text and of confirmations, in milliseconds. */
export const answerPulseMs = 5_000;

/** Part of a streamed answer. */
export class AnswerFrame {
  /** From 1, without gaps: a receiver that misses one ends the answer as broken. */
  @IsInt() number!: number;

  @Optional() @IsString() text?: string;

  /** Last frame: `complete`, or `broken` for an answer that failed after it had begun. */
  @Optional() @IsIn(['complete', 'broken']) end?: 'complete' | 'broken';
}

/** Message to the sender of a stream. */
export class AnswerControl {
  /** Characters of all frames that the receiver has passed on. */
  @IsInt() received!: number;

  /** The client has gone: nothing more is read. */
  @Optional() @IsBoolean() stop?: boolean;
}

export class AnswerState {}

/** Bus subjects of the streamed answers of a service. */
export type AnswerSubjects = AnswerStreams<AnswerFrame, AnswerControl, AnswerState>;

/** Output in place of the operation's own: the body follows in frames. */
export class StreamedAnswer {
  /** Content type of the body. */
  @IsString() streams!: string;
}
