import { availableParallelism } from 'node:os';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { workerFile } from '@parley/background/worker-file';
import { ChildTasks, TaskFailed } from '@parley/child-processes/child-tasks';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { JsonLines } from '@parley/background/json-lines';
import type { RawInput } from './input-reader';
import type { LargeBody } from './large-body';
import type { CheckedBody, LargeBodyTask } from './large-body.child';

const children = Math.min(2, availableParallelism());
/** Several times the largest body at two bytes a character. */
const heapMb = 384;
const processorMs = 10_000;

/** Parses and validates large bodies in child processes, one at a time per tenant. */
@Injectable()
export class LargeBodiesService implements OnApplicationShutdown {
  private readonly tasks = new ChildTasks<LargeBodyTask, CheckedBody>({
    program: workerFile(__dirname, 'large-body.child'),
    heapMb,
    residentMb: 2 * heapMb,
    keptResidentMb: 160,
    children,
    childrenEach: Math.max(1, children - 1),
    maxWaitingEach: 20,
    processorMs,
    deadlineMs: 30_000,
  });

  /**
   * Validated input for the bus. Throws the errors of InputReader, PayloadTooLarge for too many values, and a 503 when no
   * child can read it at present.
   */
  async read(
    { subject }: Operation,
    tenant: string,
    { body, query, path, headers }: RawInput & { body: LargeBody },
  ): Promise<JsonLines> {
    try {
      const task = { subject, rest: { query, path, headers } };
      const { result, content } = await this.tasks.run(tenant, task, body.parts);
      if (result.problem) throw ApiError.fromWire(result.problem);
      return new JsonLines(content);
    } catch (error) {
      throw error instanceof TaskFailed ? refusal(error) : error;
    }
  }

  onApplicationShutdown(): Promise<void> {
    return this.tasks.close();
  }
}

function refusal(cause: TaskFailed): ApiError {
  switch (cause.failure) {
    case 'memory':
      return tooLarge(`${heapMb} MB of memory`);
    case 'processor time':
      return tooLarge(`${processorMs / 1_000} s of processor time`);
    case 'busy':
      return unavailable(
        'Too many large requests of this workspace are being read; the request was not processed. Retry after 1 s.',
      );
    case 'outage':
      return unavailable(
        'The body could not be read at present; the request was not processed. Retry after 1 s.',
        cause,
      );
  }
}

function tooLarge(limit: string): ApiError {
  return new ApiError('PayloadTooLarge', `The body takes more than ${limit} to read: send it in several requests.`);
}
