import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/database/database';
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
    return this.explained(advice, this.database.readWithin<Row>(this.config.listTimeoutMs, statement, values));
  }

  /** The same in a transaction, whose other statements may take as long as any. */
  async readIn<Row>(tx: Transaction, statement: string, values: unknown[], advice: string): Promise<Row[]> {
    await tx.query(`SET LOCAL statement_timeout = ${this.config.listTimeoutMs}`);
    const rows = await this.explained(advice, tx.query<Row>(statement, values));
    await tx.query('SET LOCAL statement_timeout TO DEFAULT');
    return rows;
  }

  private async explained<T>(advice: string, work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      if (!isStopped(error)) throw error;
      const seconds = this.config.listTimeoutMs / 1000;
      throw new ApiError('OperationTimeout', `Finding this took more than ${seconds} s. ${advice}`, { cause: error });
    });
  }
}
