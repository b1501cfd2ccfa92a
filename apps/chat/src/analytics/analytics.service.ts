import { Injectable } from '@nestjs/common';
import type { BotCaller, WorkspaceCaller } from '@parley/contracts/access';
import { botVisibility } from '@parley/contracts/admin/bot-visibility';
import {
  type BotAnalytics,
  type CaptureObservation,
  type DayOfBot,
  type GetBotAnalytics,
  type LanguageModelUse,
  type ListObservations,
  maxAnalyticsDays,
  maxCountNames,
  type Observations,
  analytics as operations,
  type TrackAnalytics,
} from '@parley/contracts/chat/analytics';
import { ApiError } from '@parley/contracts/errors';
import type { Distribution } from '@parley/contracts/models/use';
import { Idempotency } from '@parley/persistence/idempotency';
import { ParleyClient } from '@parley/transport/parley-client';
import { Every } from '@parley/work-queue/worker';
import { scopeOf, storedName } from '../queries/scope';
import { AnalyticsRepository, type DayFigures } from './analytics.repository';
import { type ModelFigures, toObservation } from './analytics.entity';
import { ModelUseRepository } from './model-use.repository';

const dayMs = 24 * 60 * 60_000;
const keptCountDays = 400;
const keptObservationDays = 7;
const cleanMs = 60 * 60_000;

@Injectable()
export class AnalyticsService {
  constructor(
    private readonly client: ParleyClient,
    private readonly idempotency: Idempotency,
    private readonly analytics: AnalyticsRepository,
    private readonly modelUses: ModelUseRepository,
  ) {}

  track(caller: BotCaller, input: TrackAnalytics): Promise<object> {
    const { id } = caller.bot;
    return this.idempotency.runStatement(caller, operations.track, input, async (sql) => {
      if (await this.analytics.addToCount(sql, id, storedName(caller, input.name), input.count)) return {};
      throw new ApiError(
        'QuotaExceeded',
        `Cannot count "${input.name}": the bot has ${maxCountNames} other names today. Use a name of today, or wait until tomorrow (UTC).`,
      );
    });
  }

  captureObservation(caller: BotCaller, input: CaptureObservation): Promise<object> {
    return this.idempotency.runStatement(caller, operations.captureObservation, input, async (sql) => {
      await this.analytics.insertObservation(sql, scopeOf(caller), input);
      return {};
    });
  }

  async listObservations(query: ListObservations): Promise<Observations> {
    const { rows, nextToken } = await this.analytics.listObservations(query);
    return { observations: rows.map(toObservation), meta: { nextToken } };
  }

  async getOfBot(caller: WorkspaceCaller, { id, startDate, endDate }: GetBotAnalytics): Promise<BotAnalytics> {
    const days = daysOf(startDate, endDate);
    await this.client.call(botVisibility.require, caller, { botId: id });
    const until = new Date(days.at(-1)!.getTime() + dayMs);
    const [figures, uses] = await Promise.all([
      this.analytics.findFigures(id, days[0]!, until),
      this.modelUses.list(id, days[0]!, until),
    ]);
    const byDay = new Map(figures.map((row) => [row.day.getTime(), row]));
    const hoursOf = Map.groupBy(uses, ({ hour }) => Math.floor(hour.getTime() / dayMs) * dayMs);
    return {
      records: days.map((day) => {
        const hours = hoursOf.get(day.getTime()) ?? [];
        return toRecord(
          day,
          hours.map((each) => each.figures),
          byDay.get(day.getTime()),
        );
      }),
    };
  }

  /** Safe to run in several processes. */
  @Every({ name: 'chat.analyticsRetention', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.analytics.deleteBefore(keptObservationDays);
    await this.analytics.deleteCountsBefore(keptCountDays);
    await this.modelUses.deleteBefore(keptCountDays);
  }
}

/** Starts of the days in UTC, of both dates and between them. */
function daysOf(startDate: string, endDate: string): Date[] {
  const [first, last] = [startDate, endDate].map((date) => Math.floor(Date.parse(date) / dayMs));
  const count = last! - first! + 1;
  if (count < 1) throw new ApiError('InvalidQuery', 'endDate must not be before startDate.');
  if (count > maxAnalyticsDays)
    throw new ApiError(
      'InvalidQuery',
      `The range from startDate to endDate has ${count} days. Ask for at most ${maxAnalyticsDays} at once.`,
    );
  return Array.from({ length: count }, (_, index) => new Date((first! + index) * dayMs));
}

function toRecord(day: Date, hoursOfModels: ModelFigures[], figures?: DayFigures): DayOfBot {
  const userMessages = figures?.user_messages ?? 0;
  return {
    startDateTimeUtc: day.toISOString(),
    endDateTimeUtc: new Date(day.getTime() + dayMs - 1).toISOString(),
    returningUsers: figures?.returning_users ?? 0,
    newUsers: figures?.new_users ?? 0,
    sessions: figures?.sessions ?? 0,
    messages: userMessages,
    userMessages,
    botMessages: figures?.bot_messages ?? 0,
    events: figures?.events ?? 0,
    eventTypes: figures?.event_types ?? {},
    customEvents: figures?.custom_events ?? {},
    llm: dayOfModels(hoursOfModels),
  };
}

/** Figures of language models of one day, from those of its hours. */
function dayOfModels(hours: ModelFigures[]): LanguageModelUse {
  const total = (of: (figures: ModelFigures) => number) => hours.reduce((sum, figures) => sum + of(figures), 0);
  const costs = hours.map(({ cost }) => cost);
  return {
    calls: total(({ calls }) => calls),
    errors: total(({ errors }) => errors),
    inputTokens: total(({ inputTokens }) => inputTokens),
    outputTokens: total(({ outputTokens }) => outputTokens),
    latency: spreadOf(hours.map(({ latency }) => latency)),
    tokensPerSecond: spreadOf(hours.map(({ tokensPerSecond }) => tokensPerSecond)),
    cost: { sum: costs.reduce((sum, each) => sum + each.sum, 0), ...spreadOf(costs) },
  };
}

function spreadOf(all: Distribution[]) {
  const counted = all.filter(({ count }) => count > 0);
  if (counted.length === 0) return { mean: 0, sd: 0, min: 0, max: 0 };
  const [count, sum, squares] = (['count', 'sum', 'squares'] as const).map((name) =>
    counted.reduce((total, each) => total + each[name], 0),
  ) as [number, number, number];
  const mean = sum / count;
  return {
    mean,
    // Rounding may make the variance of equal values negative.
    sd: Math.sqrt(Math.max(0, squares / count - mean * mean)),
    min: Math.min(...counted.map(({ min }) => min)),
    max: Math.max(...counted.map(({ max }) => max)),
  };
}
