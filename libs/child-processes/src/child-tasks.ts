import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { ChildPool, type PoolOptions } from './child-pool';
import { ProcessorTimer } from './processor-timer';
import type { TaskMessage, TaskOrder } from './serve-tasks';
import type { ChildEnd, SupervisedChild } from './supervised-child';

export interface ChildTasksOptions extends Omit<PoolOptions, 'idleMs'> {
  /** Children at once, of which one tenant may occupy `childrenEach`. */
  children: number;
  childrenEach: number;
  /** Tasks of one tenant that may wait for a child. */
  maxWaitingEach: number;
  /** Limit of the processor time of a task. Starting the child and receiving the content do not count. */
  processorMs: number;
  /** Longest wait of the caller, the start of a child included. */
  deadlineMs: number;
}

/**
 * `busy`: no child was free before the deadline. `memory`, `processor time`: the task exceeded its limit, and would again.
 * `outage`: the child ended, or had no processor before the deadline; nothing is wrong with the task.
 */
export type TaskFailure = 'busy' | 'memory' | 'processor time' | 'outage';

export class TaskFailed extends Error {
  override readonly name = 'TaskFailed';

  constructor(
    readonly failure: TaskFailure,
    message: string,
  ) {
    super(message);
  }
}

export interface TaskResult<Result> {
  result: Result;
  /** Bytes that the task has written. */
  content: Uint8Array[];
}

const idleMs = 10_000;

type Child<Task, Result> = SupervisedChild<TaskOrder<Task>, TaskMessage<Result>>;

/**
 * Tasks that may exhaust memory or time, on child processes of a program that calls `serveTasks`. Children start on demand
 * and end when idle. Tenants take turns.
 */
export class ChildTasks<Task, Result> {
  private readonly pool: ChildPool<TaskOrder<Task>, TaskMessage<Result>>;
  private readonly slots: FairSemaphore;
  /** The task of each child. */
  private readonly running = new WeakMap<Child<Task, Result>, RunningTask<Task, Result> | null>();
  private isClosed = false;

  constructor(private readonly options: ChildTasksOptions) {
    const { children: size, childrenEach: maxEach, maxWaitingEach } = options;
    this.pool = new ChildPool({ ...options, idleMs });
    this.slots = new FairSemaphore({ size, maxEach, maxWaitingEach });
  }

  /** Sends the task, and its content with backpressure. Throws TaskFailed, or an Error for an exception of the program. */
  async run(tenant: string, task: Task, content: Uint8Array[] = []): Promise<TaskResult<Result>> {
    const deadline = AbortSignal.timeout(this.options.deadlineMs);
    try {
      return await this.slots.run(tenant, () => this.perform(task, content, deadline), deadline);
    } catch (error) {
      if (error !== deadline.reason && !(error instanceof TooManyWaiting)) throw error;
      throw new TaskFailed('busy', 'No child process was free in time.');
    }
  }

  /** Ends all children. Running and waiting tasks fail with `outage`. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.pool.close();
  }

  private async perform(task: Task, content: Uint8Array[], deadline: AbortSignal): Promise<TaskResult<Result>> {
    if (this.isClosed) throw new TaskFailed('outage', 'The child processes are closed.');
    const child = this.pool.take();
    const isWarm = this.running.has(child);
    // One listener for each child: a child may do any number of tasks.
    if (!isWarm) void child.ended.then((end) => this.running.get(child)?.lose(end));
    const running = new RunningTask(child, this.options.processorMs);
    this.running.set(child, running);
    try {
      const result = await running.run(task, content, deadline);
      await this.pool.giveBack(child);
      return result;
    } catch (error) {
      child.kill();
      // It was killed while idle, which this process learns later.
      if (isWarm && !running.hasStarted && !deadline.aborted && isOutage(error))
        return await this.perform(task, content, deadline);
      throw error;
    } finally {
      this.running.set(child, null);
    }
  }
}

class RunningTask<Task, Result> {
  private readonly content: Uint8Array[] = [];
  private contentBytes = 0;
  /** Whether the child has received the task. */
  hasStarted = false;
  private ending?: { result: Result; sizeBytes: number };
  private resolve!: (result: TaskResult<Result>) => void;
  private fail!: (error: Error) => void;
  private readonly outcome = new Promise<TaskResult<Result>>((resolve, reject) => {
    this.resolve = resolve;
    this.fail = reject;
  });
  private readonly processorTimer: ProcessorTimer;

  constructor(
    private readonly child: Child<Task, Result>,
    processorMs: number,
  ) {
    this.processorTimer = new ProcessorTimer(
      () => child.processorMs(),
      processorMs,
      () => this.fail(new TaskFailed('processor time', `The task takes more than ${processorMs} ms.`)),
    );
  }

  async run(task: Task, content: Uint8Array[], deadline: AbortSignal): Promise<TaskResult<Result>> {
    const { child } = this;
    const onLate = () => this.fail(new TaskFailed('outage', 'The child process was not done before the deadline.'));
    deadline.addEventListener('abort', onLate);
    if (deadline.aborted) onLate();
    const onData = (part: Uint8Array) => this.receive(part);
    child.data.on('data', onData).resume();
    child.watch((message) => this.hear(message));
    child.send({ task, sizeBytes: content.reduce((sum, { length }) => sum + length, 0) });
    void this.feed(content);
    try {
      return await this.outcome;
    } finally {
      deadline.removeEventListener('abort', onLate);
      this.processorTimer.stop();
      child.unwatch();
      child.data.off('data', onData).pause();
    }
  }

  /** Ends early with the child. */
  private async feed(content: Uint8Array[]): Promise<void> {
    for (const part of content) {
      if (!this.child.isAlive) return;
      await this.child.write(part);
    }
  }

  lose(end: ChildEnd): void {
    this.fail(
      end.cause === 'memory' ? outOfMemory() : new TaskFailed('outage', `The child process ended: ${end.detail}`),
    );
  }

  private hear(message: TaskMessage<Result>): void {
    if (message === 'started') {
      this.hasStarted = true;
      this.processorTimer.start();
    } else if ('result' in message) {
      this.ending = message;
      this.finish();
    } else {
      this.fail('failed' in message ? new Error(message.failed) : outOfMemory());
    }
  }

  private receive(part: Uint8Array): void {
    this.content.push(part);
    this.contentBytes += part.length;
    this.finish();
  }

  /** The message and the content arrive over two channels, in any order. */
  private finish(): void {
    if (this.ending?.sizeBytes !== this.contentBytes) return;
    this.resolve({ result: this.ending.result, content: this.content });
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof TaskFailed && error.failure === 'outage';
}

function outOfMemory(): TaskFailed {
  return new TaskFailed('memory', 'The task exceeded its memory limit.');
}
