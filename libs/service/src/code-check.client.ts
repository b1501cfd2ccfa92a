import { Injectable, Logger } from '@nestjs/common';
import { JsonLines } from '@parley/background/json-lines';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { type LoadCode, runner } from '@parley/contracts/runner/runner';
import { withWarning } from '@parley/contracts/warning';
import { ParleyClient } from '@parley/transport/parley-client';

/** Has code loaded before it is deployed. Use it outside of a transaction: it takes as long as the code takes to load. */
@Injectable()
export class CodeCheckClient {
  private readonly logger = new Logger(CodeCheckClient.name);

  constructor(private readonly client: ParleyClient) {}

  /** Reason why the code cannot be loaded. Null if it can, and if no runner can load it now. */
  async findFailure(caller: Caller, input: LoadCode): Promise<string | null> {
    try {
      return (await this.client.call(runner.codeChecks.run, caller, await JsonLines.of(input))).failure;
    } catch (error) {
      this.logger.warn(`The code of the ${input.owner} ${input.ownerId ?? ''} is deployed unchecked: ${String(error)}`);
      return null;
    }
  }
}

/** Error of a deployment that is refused. */
export function nothingDeployed(failure: string): ApiError {
  return new ApiError('Runtime', `code: nothing was deployed. ${failure}`);
}

/** Answer of a deployment, with a warning if its code cannot be loaded. */
export function deployed<T extends object>(answer: T, failure: string | null): T {
  return failure === null ? answer : withWarning(answer, `code: it is deployed, and cannot run. ${failure}`);
}
