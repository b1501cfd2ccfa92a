import { IsISO8601, IsNumber, IsString, Length, Matches, Max, Min } from 'class-validator';
import { Optional } from '../fields';

/** As far ahead as something may be scheduled: a year, a leap year too. */
export const maxAheadMs = 366 * 86_400_000;

const dateTimeForm = {
  message: '$property must be a time with milliseconds and a zone, such as 2030-01-01T00:00:00.000Z',
};

/** When something is to happen: one of the two, and at most a year ahead. What is past is due at once. */
export class Postponement {
  /** With milliseconds and a zone: 2026-01-31T12:00:00.000Z. */
  @Optional()
  @IsString()
  @Length(24, 28, dateTimeForm)
  @IsISO8601({ strict: true, strictSeparator: true }, dateTimeForm)
  @Matches(/(Z|[+-]\d\d:?\d\d)$/, dateTimeForm)
  dateTime?: string;

  /** Milliseconds from now. */
  @Optional()
  @IsNumber()
  @Min(0)
  @Max(maxAheadMs)
  delay?: number;
}
