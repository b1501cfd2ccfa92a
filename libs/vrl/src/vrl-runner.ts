import { JsonLines } from '@parley/background/json-lines';
import { workerFile } from '@parley/background/worker-file';
import { ChildTasks, TaskFailed } from '@parley/child-processes/child-tasks';
import { unavailable } from '@parley/contracts/errors';

/** Script in the Vector Remap Language, and the value that it sees as `.`. */
export interface VrlScript {
  script: string;
  data: Record<string, unknown>;
  /** Whether the value is returned as the script left it. */
  isDataWanted?: boolean;
}

/** `problem`: why there is no result, such as an error of the script. */
export type VrlResult = { result: unknown; data?: Record<string, unknown>; problem?: undefined } | { problem: string };

/** Scripts of integrations take about 1 ms. */
const processorMs = 2_000;

/**
 * Runs scripts of integrations in a child process, bounded in time and memory: none can block the event loop. Scripts reach no
 * file, no network and no environment variable. Tenants take turns.
 */
export class VrlRunner {
  private readonly tasks = new ChildTasks<null, VrlResult>({
    program: workerFile(__dirname, 'run-script.child'),
    heapMb: 128,
    // The memory of the engine counts.
    residentMb: 512,
    keptResidentMb: 256,
    children: 1,
    childrenEach: 1,
    niceness: 0,
    maxWaitingEach: 100,
    processorMs,
    deadlineMs: 8_000,
  });

  /** Throws a 503 when too many scripts of the tenant wait, or no child can run it at present. */
  async run(tenant: string, script: VrlScript): Promise<VrlResult> {
    try {
      const { parts } = await JsonLines.of(script);
      return (await this.tasks.run(tenant, null, parts)).result;
    } catch (error) {
      if (!(error instanceof TaskFailed)) throw error;
      switch (error.failure) {
        case 'processor time':
          return { problem: `The script takes longer than ${processorMs} ms.` };
        case 'memory':
          return { problem: 'The script takes too much memory.' };
        case 'busy':
          throw unavailable('Too many scripts of this workspace are waiting. Try again in a moment.');
        case 'outage':
          throw unavailable('The script cannot be run at present. Try again in a moment.', error);
      }
    }
  }

  async close(): Promise<void> {
    await this.tasks.close();
  }
}
