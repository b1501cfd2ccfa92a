import { Injectable } from '@nestjs/common';
import { ApiError, notFound } from '@parley/contracts/errors';
import type {
  Discarded,
  ListWork,
  NamedWork,
  Retried,
  RetryWork,
  WorkDetails,
  WorkList,
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

  async list({ queue, state, limit = defaultLimit }: ListWork): Promise<WorkList> {
    const rows = await this.work.listWork({ queue, states: state && [state], limit });
    return { work: rows.map(toSummary) };
  }

  async show({ queue, key }: NamedWork): Promise<WorkDetails> {
    const [row] = await this.work.listWork({ queue, key, limit: 1 });
    if (!row) throw notFound('work', `${queue} ${key}`);
    return { ...toSummary(row), orderingKey: row.ordering_key, payload: JSON.stringify(row.payload) };
  }

  async retry({ queue, key }: RetryWork): Promise<Retried> {
    const retried = await this.work.retryWork(queue, key);
    if (key !== undefined && retried === 0) throw await this.whyNot({ queue, key }, 'failed, waiting or parked');
    if (retried > 0) this.queue.wake(queue);
    return { retried };
  }

  async discard({ queue, key }: NamedWork): Promise<Discarded> {
    if (await this.work.discardWork(queue, key)) {
      this.queue.wake(queue);
      return { discarded: 1 };
    }
    throw await this.whyNot({ queue, key }, 'not running');
  }

  private async whyNot({ queue, key }: NamedWork, required: string): Promise<ApiError> {
    const [row] = await this.work.listWork({ queue, key, limit: 1 });
    if (!row) return notFound('work', `${queue} ${key}`);
    return new ApiError('ResourceLockedConflict', `The work "${key}" is ${row.state}; it must be ${required}.`);
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
  };
}
