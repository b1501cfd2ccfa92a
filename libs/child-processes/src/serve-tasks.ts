import { ChildData, endWithParent, isMemoryError } from './in-child';

/** Message from the parent: the task, and the size of the content that follows over the data channel. */
export interface TaskOrder<Task> {
  task: Task;
  sizeBytes: number;
}

/**
 * Messages to the parent. `started` is sent when all content has arrived. `sizeBytes` is the size of the content that the
 * task has written. Errors are plain data, since IPC loses their class.
 */
export type TaskMessage<Result> =
  | 'started'
  | { result: Result; sizeBytes: number }
  | { outOfMemory: true }
  | { failed: string };

/** Work of a child: writes content of any size in parts, and returns a small result. */
export type TaskWork<Task, Result> = (
  task: Task,
  content: Buffer,
  write: (part: string | Uint8Array) => Promise<void>,
) => Promise<Result> | Result;

/** Call once in the program of a child of `ChildTasks`, after it is loaded. */
export function serveTasks<Task, Result>(work: TaskWork<Task, Result>): void {
  endWithParent();
  const data = new ChildData();
  const tell = (message: TaskMessage<Result>) => process.send!(message);
  const perform = async ({ task, sizeBytes }: TaskOrder<Task>): Promise<TaskMessage<Result>> => {
    const content = await data.read(sizeBytes);
    tell('started');
    let writtenBytes = 0;
    const result = await work(task, content, (part) => {
      writtenBytes += Buffer.byteLength(part);
      return data.write(part);
    });
    return { result, sizeBytes: writtenBytes };
  };
  process.on('message', (order: TaskOrder<Task>) => {
    perform(order).then(tell, (error: unknown) => tell(failureMessage(error)));
  });
}

function failureMessage(error: unknown): { outOfMemory: true } | { failed: string } {
  if (isMemoryError(error)) return { outOfMemory: true };
  const { message, stack } = error as Error;
  return { failed: stack ?? message };
}
