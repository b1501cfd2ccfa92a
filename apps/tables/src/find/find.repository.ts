import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/database/database';
import { expressionProblem, isStopped } from '@parley/database/errors';
import { toText } from '@parley/database/storable';
import { TablesConfig } from '../config';
import type { StoredRow } from '../rows/row.entity';
import type { TableRow } from '../tables/table.entity';
import { expressionsOf, type Filter } from './filter';
import type { Grouping, GroupRow } from './grouping';
import {
  isSmall,
  type PageQuestion,
  pageStatement,
  pageWithoutIds,
  type Question,
  rowsOf,
  rowsOfIds,
} from './page-sql';

@Injectable()
export class FindRepository {
  constructor(
    private readonly database: Database,
    private readonly config: TablesConfig,
  ) {}

  /** Primary key. */
  async find({ number }: Pick<TableRow, 'number'>, id: number): Promise<StoredRow | undefined> {
    const [row] = await this.database.query<StoredRow>(
      `SELECT id, created_at, updated_at, data, computed, stale FROM row WHERE table_number = $1 AND id = $2`,
      [number, id],
    );
    return row;
  }

  /** One statement; see `pageStatement` for its indexes. Throws OperationTimeout. */
  async page(question: PageQuestion): Promise<StoredRow[]> {
    const values: unknown[] = [];
    const statement = pageStatement(question, values);
    return isSmall(question) ? this.database.query(statement, values) : this.read(statement, values);
  }

  /** A page of groups. Looks at every row meant. Throws OperationTimeout. */
  async groups(question: Question, grouping: Grouping, offset: number, limit: number): Promise<GroupRow[]> {
    const values: unknown[] = [];
    const groups = grouping.statement(rowsOf(question, values), values);
    return this.read(`${groups} OFFSET $${values.push(offset)}::bigint LIMIT $${values.push(limit)}::bigint`, values);
  }

  /** Those of the ids whose rows are meant. Throws OperationTimeout. */
  async meantOf(question: Question, ids: number[]): Promise<number[]> {
    const values: unknown[] = [];
    const [found] = await this.read<{ ids: number[] }>(
      `SELECT ARRAY(SELECT row.id FROM ${rowsOf(question, values)} AND row.id = ANY ($${values.push(ids)}::int[])) AS ids`,
      values,
    );
    return found!.ids;
  }

  /** The rows of these ids, as they are now. Primary key. */
  ofIds(question: PageQuestion, ids: number[]): Promise<StoredRow[]> {
    const values: unknown[] = [];
    return this.database.query<StoredRow>(rowsOfIds(question, ids, values), values);
  }

  /** A page of the rows meant but these, by id. Throws OperationTimeout. */
  pageWithout(question: PageQuestion, ids: number[]): Promise<StoredRow[]> {
    const values: unknown[] = [];
    return this.read<StoredRow>(pageWithoutIds(question, ids, values), values);
  }

  /** Ids of up to so many rows, whichever. Throws OperationTimeout. */
  async listIds(question: Question, limit: number): Promise<number[]> {
    const values: unknown[] = [];
    const rows = rowsOf(question, values);
    const [found] = await this.read<{ ids: number[] }>(
      `SELECT ARRAY(SELECT row.id FROM ${rows} LIMIT $${values.push(limit)}::bigint) AS ids`,
      values,
    );
    return found!.ids;
  }

  /** Throws InvalidPayload for a regular expression that Postgres does not take. It bounds what one costs to compile. */
  async checkExpressions(filter: Filter): Promise<void> {
    for (const { name, pattern } of expressionsOf(filter)) {
      await this.database.query(`SELECT '' ~ $1`, [toText(pattern)]).catch((error: unknown) => {
        const problem = expressionProblem(error);
        throw problem === undefined ? error : new ApiError('InvalidPayload', `${name}: ${problem}.`, { cause: error });
      });
    }
  }

  private async read<Row>(statement: string, values: unknown[]): Promise<Row[]> {
    const { findTimeoutMs } = this.config;
    return this.database.readWithin<Row>(findTimeoutMs, statement, values).catch((error: unknown) => {
      if (!isStopped(error)) throw error;
      throw new ApiError(
        'OperationTimeout',
        `Finding these rows took more than ${findTimeoutMs / 1000} s. Narrow the filter: equality with a value that few ` +
          'rows have is fast, and so are the key column and the order by id.',
        { cause: error },
      );
    });
  }
}
