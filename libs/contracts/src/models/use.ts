import { IsIn, IsInt, IsISO8601, IsNumber, IsString, Min } from 'class-validator';
import { type BudgetScope, budgetScopes } from '../admin/budgets';
import { Nested, Optional } from '../fields';
import { consumer, event } from '../operation';

/** Sums that give mean and deviation, and extremes, of one figure of several calls. Without calls, all are zero. */
export class Distribution {
  @IsInt() @Min(0) count!: number;
  @IsNumber() sum!: number;
  @IsNumber() squares!: number;
  @IsNumber() min!: number;
  @IsNumber() max!: number;
}

/**
 * Calls of language models of a bot so far in one hour (UTC), by the time of their end. Cumulative: of two events of the
 * same hour, the one with more calls is newer. Repeated and older events have no effect.
 */
export class ModelUseCounted {
  @IsString() botId!: string;

  /** Start of the hour. */
  @IsISO8601() hour!: string;

  /** Including errors and cached answers. */
  @IsInt() @Min(1) calls!: number;

  @IsInt() @Min(0) errors!: number;
  @IsInt() @Min(0) inputTokens!: number;
  @IsInt() @Min(0) outputTokens!: number;

  /** Milliseconds, of calls that a provider answered. */
  @Nested(Distribution) latency!: Distribution;

  /** Tokens of the answer in a second, of calls that a provider answered with any. */
  @Nested(Distribution) tokensPerSecond!: Distribution;

  /** US dollars, of all calls. */
  @Nested(Distribution) cost!: Distribution;
}

/** Published at most once a minute for each bot, for an hour with new calls. */
export const modelUseCounted = event({ subject: 'models.useCounted', data: ModelUseCounted });

export const recordModelUse = consumer({ name: 'chat.recordModelUse', event: modelUseCounted, concurrency: 4 });

export const budgetPercents = [80, 100] as const;
export type BudgetPercent = (typeof budgetPercents)[number];

/**
 * Budget of which 80 % are used, or which refuses calls: announced once for each month, and again when the amounts have
 * changed.
 */
export class BudgetReached {
  /** Bot whose call reached it. */
  @IsString() botId!: string;

  @IsIn(budgetScopes) scope!: BudgetScope;

  /** UTC, formatted as 2026-01. */
  @IsString() month!: string;

  @IsIn(budgetPercents) percent!: BudgetPercent;

  /** US dollars. Absent: no limit. */
  @Optional() @IsNumber() maxDollars?: number;

  @Optional() @IsInt() maxTokens?: number;
}

export const budgetReached = event({ subject: 'models.budgetReached', data: BudgetReached });

export const recordBudgetIssue = consumer({ name: 'runtime.recordBudgetIssue', event: budgetReached });
