import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/database/database';
import { isStopped } from '@parley/database/errors';
import { ChatConfig } from '../config';

/** Reads pages whose filters no index serves together, so that one which takes long does not hold a connection for as long. */
@Injectable()
export class BoundedReads {
  constructor(
    private readonly database: Database,
    private readonly config: ChatConfig,
  ) {}

  /** @param advice how to ask for less. Throws OperationTimeout with it. */
  async read<Row>(statement: string, values: unknown[], advice: string): Promise<Row[]> {
    const { listTimeoutMs } = this.config;
    return this.database.readWithin<Row>(listTimeoutMs, statement, values).catch((error: unknown) => {
      if (!isStopped(error)) throw error;
      throw new ApiError('OperationTimeout', `Finding this page took more than ${listTimeoutMs / 1000} s. ${advice}`, {
        cause: error,
      });
    });
  }
}
