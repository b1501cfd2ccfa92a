import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { BotTarget } from '@parley/contracts/admin/targets';
import { systemCaller } from '@parley/contracts/caller';
import { ApiError, type ErrorType, ifFound } from '@parley/contracts/errors';
import {
  cellsComputedByBot,
  type ComputationRequested,
  type ComputedCells,
  recomputeAction,
} from '@parley/contracts/tables/computations';
import { Outbox } from '@parley/events/outbox';
import { Database, type Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { type FailedWork, RetryAfter, RetryLater, type Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { OnFailed, Worker } from '@parley/work-queue/worker';
import { ActionsService } from './actions.service';
import { BotTargetsCache } from '../invocations/bot-targets.cache';
import { RuntimeConfig } from '../config';
import { attemptTimeoutMs, maxAttempts } from '../invocations/attempts';
import { whenThere } from '../invocations/when-there';
import { IssueRecordsService } from '../records/issue-records.service';
import { cellsIn, failedCells, inEvents } from './recompute-answer';
import { type RowComputation, rowComputations, toRowComputation } from './row-computation-queue';

const callsPerBot = 2;
const pausesMs = [1_000, 5_000];
const [minBusyMs, maxBusyMs] = [1_000, 30_000];
/** Another attempt would end the same way, and so would each row alone. */
const lasting: ErrorType[] = ['QuotaExceeded', 'ResourceNotFound'];

/** Calls `tablesRecomputeRows` of bots for stale rows of their tables. */
@Injectable()
export class RowComputationsWorker {
  constructor(
    private readonly targets: BotTargetsCache,
    private readonly actions: ActionsService,
    private readonly issues: IssueRecordsService,
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly queue: WorkQueue,
    private readonly config: RuntimeConfig,
  ) {}

  /** At least once: a row may be computed again if this process ends before it has announced the outcome. */
  @Worker<RowComputation, RowComputationsWorker>(rowComputations, ({ config }) => ({
    concurrency: config.deliveriesConcurrency,
    perTenant: callsPerBot,
    attempts: maxAttempts,
    timeoutMs: attemptTimeoutMs,
  }))
  async compute(work: Work<RowComputation>): Promise<void> {
    const { botId, rows, isAlone = false } = work.payload;
    const target = await whenThere(work, ifFound(this.targets.get(botId)));
    // The bot is deleted, and so are its tables.
    if (!target) return;
    const obstacle = obstacleTo(target);
    if (obstacle !== undefined) return this.fail(work, obstacle);
    const { output, error } = await this.call(work, target);
    const cells = output && cellsIn(output, rows);
    if (cells?.some((row) => Object.keys(row.cells).length > 0)) return this.answer(work, cells);
    const reason = error?.message ?? `The action ${recomputeAction} has computed no row in time.`;
    if (error && lasting.includes(error.type)) return this.fail(work, reason);
    const pauseMs = isAlone ? undefined : pausesMs[work.failures];
    if (pauseMs !== undefined) throw new RetryAfter(reason, pauseMs);
    if (rows.length > 1) return this.computeOneByOne(work);
    await this.fail(work, reason);
  }

  @OnFailed(rowComputations)
  async giveUp({ payload }: FailedWork<RowComputation>, reason: string): Promise<void> {
    this.recordIssue(payload, reason);
    await this.database.transaction((tx) => this.announce(tx, payload, failedCells(payload.rows, reason)));
  }

  /** Throws RetryLater while the bot cannot be called for a reason that passes. */
  private async call(
    work: Work<RowComputation>,
    { botId, workspaceId }: BotTarget,
  ): Promise<{ output?: Record<string, unknown>; error?: ApiError }> {
    const caller: BotCaller = {
      ...systemCaller(newId('req')),
      ...{ traceparent: work.traceparent, workspace: { id: workspaceId }, bot: { id: botId, workspaceId } },
    };
    const { tableId, schema, rows } = work.payload;
    const requests = rows.map(({ row, columns }) => ({ row, columnsToRecompute: columns }));
    try {
      return await this.actions.call(caller, {
        type: recomputeAction,
        input: { tableId, botId, schema, requests },
      });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code !== 503 && error.type !== 'RateLimited') return { error };
      const ageMs = Date.now() - work.createdAt.getTime();
      throw new RetryLater(error.message, Math.min(Math.max(ageMs, minBusyMs), maxBusyMs));
    }
  }

  private answer(work: Work<RowComputation>, cells: ComputedCells[]): Promise<void> {
    return this.database.transaction(async (tx) => {
      await work.confirm(tx);
      await this.announce(tx, work.payload, cells);
    });
  }

  /** A row for which the bot fails must not take others along. */
  private computeOneByOne(work: Work<RowComputation>): Promise<void> {
    const { rows, ...request } = work.payload;
    return this.database.transaction(async (tx) => {
      await work.confirm(tx);
      await this.queue.add(
        tx,
        rowComputations,
        rows.map((row) => toRowComputation({ ...request, rows: [row], isAlone: true })),
      );
    });
  }

  private async fail(work: Work<RowComputation>, reason: string): Promise<void> {
    this.recordIssue(work.payload, reason);
    await this.answer(work, failedCells(work.payload.rows, reason));
  }

  private async announce(
    tx: Transaction,
    { botId, tableId }: ComputationRequested,
    cells: ComputedCells[],
  ): Promise<void> {
    await this.outbox.addAll(
      tx,
      cellsComputedByBot,
      inEvents(cells).map((rows) => ({ botId, tableId, rows })),
    );
  }

  private recordIssue({ botId, tableId }: ComputationRequested, reason: string): void {
    this.issues.record({
      botId,
      code: 'columns_not_computed',
      category: 'user_code',
      title: 'The bot failed to compute columns of a table',
      description: reason,
      data: { tableId: { raw: tableId }, reason: { raw: reason } },
    });
  }
}

function obstacleTo({ url, code, isBlocked }: BotTarget): string | undefined {
  if (isBlocked) return 'The bot is blocked: its columns are not computed.';
  if (url !== null || code !== null) return undefined;
  return `The bot defines the action ${recomputeAction}, which computes its columns, but has neither a url nor code: deploy it.`;
}
