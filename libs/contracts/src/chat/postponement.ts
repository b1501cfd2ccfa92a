import { IsISO8601, IsNumber, IsString, Length, Matches, Max, Min } from 'class-validator';
import { Optional } from '../fields';

/** Longest delay of a schedule: one year, leap years included. */
export const maxAheadMs = 366 * 86_400_000;

const dateTimeForm = {
  message: '$property must be a time with milliseconds and a zone, such as 2030-01-01T00:00:00.000Z',
};

/** Schedule: either field, at most one year ahead. A time in the past is due immediately. */
export class Postponement {
  /** ISO 8601 with milliseconds and a zone: 2026-01-31T12:00:00.000Z. */
  @Optional()
  @IsString()
  @Length(24, 28, dateTimeForm)
  @IsISO8601({ strict: true, strictSeparator: true }, dateTimeForm)
  @Matches(/(Z|[+-]\d\d:?\d\d)$/, dateTimeForm)
  dateTime?: string;

  /** Milliseconds from now. */
  @Optional() @IsNumber() @Min(0) @Max(maxAheadMs) delay?: number;
}
