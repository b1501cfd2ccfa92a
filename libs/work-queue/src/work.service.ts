import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type {
  Discarded,
  ListWork,
  NamedWork,
  Retried,
  RetryWork,
  WorkList,
  WorkState,
  WorkSummary,
} from '@parley/contracts/work';
import type { LateRow } from '@parley/persistence/due-rows';
import type { BackgroundTasks } from './background-tasks.service';
import type { WorkEntity } from './work.entity';
import type { WorkRepository } from './work.repository';

const defaultLimit = 100;

/** Table of background work that operators see. */
export interface ShownWork {
  rows: WorkRepository;
  wake(queue: string): void;
}

/** Background work as operators see and change it. */
@Injectable()
export class WorkService {
  /**
   * @param service prefix of its queues and of its consumers
   * @param tables that of the service, and in the embedded mode that of deliveries to the consumers of all services
   */
  constructor(
    private readonly service: string,
    private readonly tables: ShownWork[],
    private readonly tasks: BackgroundTasks,
  ) {}

  async list({ queue, key, state, limit = defaultLimit }: ListWork): Promise<WorkList> {
    const filter = { service: this.service, queue, key, states: state && [state], limit };
    const rows = await Promise.all(this.tables.map((table) => table.rows.listWork(filter)));
    const late = state === undefined || state === 'ready' ? await this.tasks.listLate({ queue, key, limit }) : [];
    const payloadOf = (row: WorkEntity) => (key === undefined ? {} : { payload: JSON.stringify(row.payload) });
    const work = [...rows.flat().map((row) => ({ ...toSummary(row), ...payloadOf(row) })), ...late.map(toLateWork)];
    return { work: work.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)).slice(0, limit) };
  }

  async retry({ queue, key }: RetryWork): Promise<Retried> {
    let retried = 0;
    for (const table of this.tablesOf(queue)) {
      const ready = await table.rows.retryWork(queue, key);
      if (ready > 0) table.wake(queue);
      retried += ready;
    }
    const state = key !== undefined && retried === 0 ? await this.stateOf({ queue, key }) : undefined;
    if (state !== undefined)
      throw new ApiError(
        'ResourceLockedConflict',
        `The work "${key}" is ${state}. Only failed, waiting or parked work can be retried.`,
      );
    return { retried };
  }

  async discard({ queue, key }: NamedWork): Promise<Discarded> {
    for (const table of this.tablesOf(queue)) {
      if (!(await table.rows.discardWork(queue, key))) continue;
      table.wake(queue);
      return { discarded: 1 };
    }
    if ((await this.stateOf({ queue, key })) === 'running')
      throw new ApiError('ResourceLockedConflict', `The work "${key}" is running. Wait until it ends.`);
    return { discarded: 0 };
  }

  private tablesOf(queue: string): ShownWork[] {
    if (this.tasks.hasDueRows(queue))
      throw new ApiError(
        'InvalidPayload',
        `${queue} handles rows of the domain when they are due: they can only be listed. Change them by their own operations.`,
      );
    return queue.startsWith(`${this.service}.`) ? this.tables : [];
  }

  private async stateOf({ queue, key }: NamedWork): Promise<WorkState | undefined> {
    const { work } = await this.list({ queue, key });
    return work[0]?.state;
  }
}

function toLateWork({ queue, key, tenant, dueAt }: LateRow & { queue: string }): WorkSummary {
  return {
    ...{
      queue,
      key,
      tenant,
      state: 'ready',
      attempts: 0,
      lastError: null,
      waitsFor: null,
      worker: null,
      orderingKey: null,
      isDueRow: true,
    },
    dueAt: dueAt.toISOString(),
    createdAt: dueAt.toISOString(),
  };
}

function toSummary(row: WorkEntity): WorkSummary {
  return {
    queue: row.queue,
    key: row.key,
    tenant: row.tenant,
    state: row.state,
    attempts: row.attempts,
    lastError: row.last_error,
    dueAt: row.due_at?.toISOString() ?? null,
    waitsFor: row.waits_for,
    worker: row.worker,
    createdAt: row.created_at.toISOString(),
    orderingKey: row.ordering_key,
    isDueRow: false,
  };
}
