import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { newId } from '@parley/persistence/ids';
import { Every } from '@parley/work-queue/worker';
import { BudgetNoticesService } from './budget-notices.service';
import { inDollars } from './money';
import { type Amount, type CallRecord, type Exceeded, type Payer, SpendRepository } from './spend.repository';

const renewMs = 10_000;
/** Twelve renewals may fail. A reservation whose process died is settled within two minutes. */
const lapseSeconds = 90;
const sweepMs = 20_000;
const keptHours = 30 * 24;
const cleanMs = 3_600_000;

/** The part of a call that is known before it is answered. */
export type PlannedCall = Pick<
  CallRecord,
  'kind' | 'wanted_model' | 'conversation_id' | 'event_id' | 'trace_id' | 'provider' | 'model'
>;

/** Result of a call, and what it has cost. */
export interface Answered<Result> {
  result: Result;
  amount: Amount;
  /** With provider and model, unless they were planned. */
  record: Omit<CallRecord, keyof PlannedCall> & Partial<Pick<CallRecord, 'provider' | 'model'>>;
}

/** Reservation of a call under way. */
export interface Reservation {
  id: string;
  /** Whether a budget applies, so that the answer must not become longer than reserved. */
  isLimited: boolean;
  /** Use so far, of a stream that has begun. */
  used?: Amount;
}

/**
 * Budgets: each call reserves the most that it can cost before it is sent, and is settled at what it has cost. Settled and
 * reserved amounts together never exceed a budget, in all processes.
 */
@Injectable()
export class BudgetsService {
  private readonly underWay = new Set<Reservation>();

  constructor(
    private readonly spend: SpendRepository,
    private readonly notices: BudgetNoticesService,
  ) {}

  /**
   * Runs a call within its reservation. One that fails is settled at what had streamed. One that cannot be settled lapses. Throws
   * QuotaExceeded, or the error of the work.
   * @param started time of `performance.now()` when the call arrived
   */
  async run<Result>(
    { payer, most, planned, started }: { payer: Payer; most: Amount; planned: PlannedCall; started: number },
    work: (reservation: Reservation) => Promise<Answered<Result>>,
  ): Promise<Result> {
    const reservation = await this.reserve(payer, most, planned);
    let answered: Answered<Result>;
    try {
      answered = await work(reservation);
    } catch (error) {
      const { used: amount = { cost: 0, tokens: 0 } } = reservation;
      await this.settle(payer, reservation, amount, failedRecord(planned, error, amount, started));
      throw error;
    }
    await this.settle(payer, reservation, answered.amount, { ...planned, ...answered.record });
    return answered.result;
  }

  private async reserve(payer: Payer, most: Amount, call: PlannedCall): Promise<Reservation> {
    const id = newId('mcall');
    const { exceeded, isLimited } = await this.spend.reserve(id, payer, most, call);
    if (exceeded) {
      this.notices.refused(payer, exceeded);
      throw used(exceeded, payer.month);
    }
    const reservation: Reservation = { id, isLimited };
    this.underWay.add(reservation);
    return reservation;
  }

  private async settle(payer: Payer, reservation: Reservation, amount: Amount, call: CallRecord): Promise<void> {
    try {
      this.notices.settled(payer, await this.spend.settle(reservation.id, amount, call));
    } finally {
      // One that could not be settled lapses.
      this.underWay.delete(reservation);
    }
  }

  @Every({ name: 'models.renewReservations', everyMs: renewMs })
  async renew(): Promise<void> {
    const calls = [...this.underWay];
    if (calls.length > 0) await this.spend.renew(calls);
  }

  @Every({ name: 'models.settleLapsed', everyMs: sweepMs })
  async settleLapsed(): Promise<void> {
    while (await this.spend.settleLapsed(lapseSeconds));
  }

  @Every({ name: 'models.deleteOldCalls', everyMs: cleanMs })
  async deleteOldCalls(): Promise<void> {
    await this.spend.deleteOldCalls(keptHours);
    await this.spend.deleteNoticesBefore(monthOf(new Date(Date.now() - keptHours * 3_600_000)));
  }
}

/** Bot, workspace and month that pay for a call that begins now. */
export function payerOf({ bot, workspace }: BotCaller): Payer {
  return { botId: bot.id, workspaceId: workspace.id, month: monthOf(new Date()) };
}

export function monthOf(time: Date): string {
  return time.toISOString().slice(0, 7);
}

function failedRecord(planned: PlannedCall, error: unknown, { cost, tokens }: Amount, started: number): CallRecord {
  return {
    ...planned,
    ...{ input_tokens: 0, output_tokens: tokens, cost, is_estimated: true, is_cached: false, fallbacks: 0 },
    latency_ms: Math.round(performance.now() - started),
    finish: 'error',
    error: error instanceof Error ? error.message.slice(0, 500) : String(error),
  };
}

function used({ scope, max_cost: cost, max_tokens: tokens }: Exceeded, month: string): ApiError {
  const limits = [cost === null ? [] : [`$${inDollars(cost)}`], tokens === null ? [] : [`${tokens} tokens`]].flat();
  return new ApiError(
    'QuotaExceeded',
    `The budget of the ${scope} for language models in ${month} is used up or reserved by calls under way (${limits.join(', ')}): raise it, or wait for the next month.`,
    { metadata: { scope, month } },
  );
}
