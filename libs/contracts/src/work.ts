import { IsBoolean, IsIn, IsInt, IsString } from 'class-validator';
import { operators } from './access';
import { ListOf, Optional, OrNull } from './fields';
import { PathParam, QueryChoice, QueryInteger, QueryString } from './query-fields';
import { broadcast, operation } from './operation';

/**
 * - `ready`: to be claimed.
 * - `waiting`: becomes ready at `due_at`.
 * - `queued`: becomes ready when the work before it with the same ordering key has ended.
 * - `parked`: becomes ready when its `waits_for` is woken, or at `due_at`.
 * - `running`: leased until `due_at`.
 * - `failed`: given up; an operator may retry or discard it.
 */
export const workStates = ['ready', 'waiting', 'queued', 'parked', 'running', 'failed'] as const;
export type WorkState = (typeof workStates)[number];

/** Work was added to these queues by another process. */
export class WorkAdded {
  /** Process that has added it. */
  @IsString() from!: string;

  @IsString({ each: true }) queues!: string[];
}

/** Background work of a service, as `parley work` shows it. */
export class WorkSummary {
  @IsString() queue!: string;
  @IsString() key!: string;
  @IsString() tenant!: string;
  @IsIn(workStates) state!: WorkState;
  @IsInt() attempts!: number;

  /** Error of the last attempt. */
  @OrNull() @IsString() lastError!: string | null;

  /** Time of the next attempt, or end of the lease while it is running. */
  @OrNull() @IsString() dueAt!: string | null;

  /** Name under which parked work is woken. */
  @OrNull() @IsString() waitsFor!: string | null;

  /** Process that claimed it last. */
  @OrNull() @IsString() worker!: string | null;

  @IsString() createdAt!: string;

  /** Work with the same ordering key runs one after the other. */
  @OrNull() @IsString() orderingKey!: string | null;

  /** Row of the domain that is due and still there: it is listed as `ready`, but cannot be retried or discarded. */
  @IsBoolean() isDueRow!: boolean;

  /** JSON text. Only if one key was asked for. */
  @Optional() @IsString() payload?: string;
}

export class ListWork {
  /** Name of one queue; all queues of the service when absent. */
  @QueryString() queue?: string;

  /** Key of one piece of work, which is then listed with its payload. */
  @QueryString() key?: string;

  /** One state; all states when absent. */
  @QueryChoice(workStates) state?: WorkState;

  @QueryInteger({ min: 1, max: 1000 }) limit?: number;
}

export class WorkList {
  @ListOf(WorkSummary) work!: WorkSummary[];
}

export class NamedWork {
  @PathParam() queue!: string;
  @PathParam() key!: string;
}

export class RetryWork {
  @IsString() queue!: string;

  /** Key of one piece of work; all failed work of the queue when absent. */
  @Optional() @IsString() key?: string;
}

export class Retried {
  @IsInt() retried!: number;
}

export class Discarded {
  /** 0 if there is no such work. */
  @IsInt() discarded!: number;
}

/** Best-effort: a lost message costs one poll of the queue. */
export function workAdded(serviceName: string) {
  return broadcast({ subject: `${serviceName}.workAdded`, data: WorkAdded });
}

/** Operations that each service with background work has, for the `parley work` command. */
export function workOperations(serviceName: string) {
  return {
    list: operation({
      subject: `${serviceName}.work.list`,
      route: `GET /operator/${serviceName}/work`,
      summary: 'Lists the background work of this service, oldest first.',
      access: operators,
      input: ListWork,
      output: WorkList,
    }),
    retry: operation({
      subject: `${serviceName}.work.retry`,
      route: `POST /operator/${serviceName}/work/retry`,
      summary: 'Starts failed work again, or one piece of work that waits.',
      access: operators,
      input: RetryWork,
      output: Retried,
    }),
    discard: operation({
      subject: `${serviceName}.work.discard`,
      route: `DELETE /operator/${serviceName}/work/{queue}/{key}`,
      summary: 'Deletes one piece of background work that is not running.',
      access: operators,
      input: NamedWork,
      output: Discarded,
    }),
  };
}
