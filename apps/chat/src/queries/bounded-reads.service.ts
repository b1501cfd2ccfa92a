import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { isStopped } from '@parley/persistence/errors';
import { ChatConfig } from '../config';

/**
 * Statement timeout for pages whose combination of filters no index serves, so that a slow one does not block a
 * connection.
 */
@Injectable()
export class BoundedReadsService {
  constructor(
    private readonly database: Database,
    private readonly config: ChatConfig,
  ) {}

  /** Throws OperationTimeout with `advice`, which says how to narrow the query. */
  async read<Row>(statement: string, values: unknown[], advice: string): Promise<Row[]> {
    return this.withAdvice(advice, this.database.readWithin<Row>(this.config.listTimeoutMs, statement, values));
  }

  /** Same limit inside a transaction. Resets the timeout afterwards, so that it does not apply to later statements. */
  async readIn<Row>(tx: Transaction, statement: string, values: unknown[], advice: string): Promise<Row[]> {
    await tx.query(`SET LOCAL statement_timeout = ${this.config.listTimeoutMs}`);
    const rows = await this.withAdvice(advice, tx.query<Row>(statement, values));
    await tx.query('SET LOCAL statement_timeout TO DEFAULT');
    return rows;
  }

  private async withAdvice<T>(advice: string, work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      if (!isStopped(error)) throw error;
      const seconds = this.config.listTimeoutMs / 1000;
      throw new ApiError('OperationTimeout', `The query exceeded its time limit of ${seconds} s. ${advice}`, {
        cause: error,
      });
    });
  }
}
