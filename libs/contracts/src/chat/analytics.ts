import { IsInt, IsNumber, IsString, Length, Max, MaxLength, Min } from 'class-validator';
import { bot, operator, workspace } from '../access';
import { BotId } from '../admin/bots';
import { JsonObject, ListOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';
import { PathParam, QueryString, QueryTime } from '../query-fields';

/** Longest range of `bots.getAnalytics`, in days. */
export const maxAnalyticsDays = 31;
/** Custom counts of a bot on one day. */
export const maxCountNames = 1_000;
/** Event types of a day, the most frequent ones. */
export const maxEventTypes = 200;

export class TrackAnalytics {
  /** Name of the count. Names of an integration are shown as `alias:name`. */
  @IsString() @Length(1, 200) name!: string;

  @IsInt() @Min(1) @Max(1_000_000_000) count!: number;
}

function ReferenceText(): PropertyDecorator {
  return (target, property) =>
    [Optional(), IsString(), MaxLength(200)].forEach((decorate) => decorate(target, property));
}

export class CaptureObservation {
  /** Id of the caller's choice; need not be unique. */
  @ReferenceText() id?: string;

  @IsString() @Length(1, 200) name!: string;
  @JsonObject() data!: Record<string, unknown>;
  @ReferenceText() messageId?: string;
  @ReferenceText() eventId?: string;
  @ReferenceText() conversationId?: string;
  @ReferenceText() userId?: string;
  @ReferenceText() errorId?: string;
  @ReferenceText() traceId?: string;
}

export class CapturedObservation extends CaptureObservation {
  @IsString() observationId!: string;
  @IsString() createdAt!: string;
}

export class ListObservations extends PageQuery {
  @PathParam() botId!: string;
  @QueryString({ maxLength: 200 }) traceId?: string;
}

export class Observations {
  @ListOf(CapturedObservation) observations!: CapturedObservation[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class GetBotAnalytics extends BotId {
  /** First day, in UTC. */
  @QueryTime({ required: true }) startDate!: string;

  /** Last day, in UTC. At most 31 days with the first. */
  @QueryTime({ required: true }) endDate!: string;
}

/** Mean, standard deviation and extremes; all zero without calls. */
class Spread {
  @IsNumber() mean!: number;
  @IsNumber() sd!: number;
  @IsNumber() min!: number;
  @IsNumber() max!: number;
}

class Cost extends Spread {
  @IsNumber() sum!: number;
}

/** Calls of language models through the platform that ended on this day. */
export class LanguageModelUse {
  /** Including errors and cached answers. */
  @IsInt() calls!: number;

  @IsInt() errors!: number;
  @IsInt() inputTokens!: number;
  @IsInt() outputTokens!: number;
  /** Milliseconds, of calls that a provider answered. */
  @Nested(Spread) latency!: Spread;

  /** Speed of calls that a provider answered with any token. */
  @Nested(Spread) tokensPerSecond!: Spread;

  /** US dollars; zero for models without prices. */
  @Nested(Cost) cost!: Cost;
}

/** Figures of one day in UTC. Deleted objects are not counted. */
export class DayOfBot {
  @IsString() startDateTimeUtc!: string;

  /** Last millisecond of the day. */
  @IsString() endDateTimeUtc!: string;

  /** Users from before this day who wrote a message. */
  @IsInt() returningUsers!: number;

  /** Users created on this day. */
  @IsInt() newUsers!: number;

  /** A session begins with the first message of a user after a pause of more than 30 minutes. */
  @IsInt() sessions!: number;

  /** Deprecated: same as `userMessages`. */
  @IsInt() messages!: number;

  @IsInt() userMessages!: number;
  @IsInt() botMessages!: number;

  /** Without scheduled and cancelled events. */
  @IsInt() events!: number;

  /** Events by type: the 200 most frequent types. */
  @JsonObject() eventTypes!: Record<string, number>;

  /** Counts of `trackAnalytics` by name. */
  @JsonObject() customEvents!: Record<string, number>;

  @Nested(LanguageModelUse) llm!: LanguageModelUse;
}

export class BotAnalytics {
  /** One record for each day of the range, oldest first. */
  @ListOf(DayOfBot) records!: DayOfBot[];
}

export const analytics = {
  track: operation({
    subject: 'chat.analytics.track',
    route: 'POST /v1/chat/analytics',
    summary: 'Adds to a custom count of the bot for this day.',
    access: bot.writeAlsoByIntegration,
    input: TrackAnalytics,
    output: Empty,
    isIdempotent: true,
  }),
  captureObservation: operation({
    subject: 'chat.analytics.captureObservation',
    route: 'POST /v1/chat/observations',
    summary: 'Stores an observation of the bot for 7 days.',
    access: bot.writeAlsoByIntegration,
    input: CaptureObservation,
    output: Empty,
    isIdempotent: true,
  }),
  listObservations: operation({
    subject: 'chat.analytics.listObservations',
    route: 'GET /operator/chat/bots/{botId}/observations',
    summary: 'Lists the observations of a bot, newest first.',
    access: operator,
    input: ListObservations,
    output: Observations,
  }),
  getOfBot: operation({
    subject: 'chat.analytics.getOfBot',
    route: 'GET /v1/admin/bots/{id}/analytics',
    summary:
      'Counts users, sessions, messages, events and calls of language models of a bot by day, for at most 31 days.',
    access: workspace.read,
    input: GetBotAnalytics,
    output: BotAnalytics,
  }),
};
