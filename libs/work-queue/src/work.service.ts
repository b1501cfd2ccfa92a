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
import type { WorkEntity } from './work.entity';
import { WorkQueue } from './work-queue.service';
import { WorkRepository } from './work.repository';

const defaultLimit = 100;

/** Background work as operators see and change it. */
@Injectable()
export class WorkService {
  constructor(
    private readonly work: WorkRepository,
    private readonly queue: WorkQueue,
  ) {}

  async list({ queue, key, state, limit = defaultLimit }: ListWork): Promise<WorkList> {
    const rows = await this.work.listWork({ queue, key, states: state && [state], limit });
    const payloadOf = (row: WorkEntity) => (key === undefined ? {} : { payload: JSON.stringify(row.payload) });
    return { work: rows.map((row) => ({ ...toSummary(row), ...payloadOf(row) })) };
  }

  async retry({ queue, key }: RetryWork): Promise<Retried> {
    const retried = await this.work.retryWork(queue, key);
    const state = key !== undefined && retried === 0 ? await this.stateOf({ queue, key }) : undefined;
    if (state !== undefined)
      throw new ApiError(
        'ResourceLockedConflict',
        `The work "${key}" is ${state}. Only failed, waiting or parked work can be retried.`,
      );
    if (retried > 0) this.queue.wake(queue);
    return { retried };
  }

  async discard({ queue, key }: NamedWork): Promise<Discarded> {
    const isDiscarded = await this.work.discardWork(queue, key);
    if (isDiscarded) this.queue.wake(queue);
    else if ((await this.stateOf({ queue, key })) === 'running')
      throw new ApiError('ResourceLockedConflict', `The work "${key}" is running. Wait until it ends.`);
    return { discarded: isDiscarded ? 1 : 0 };
  }

  private async stateOf({ queue, key }: NamedWork): Promise<WorkState | undefined> {
    const [row] = await this.work.listWork({ queue, key, limit: 1 });
    return row?.state;
  }
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
  };
}
