import { IsInt } from 'class-validator';
import { bot, operator } from '../access';
import { deadLetterOperations } from '../dead-letters';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';
import { rows } from './rows';
import { CreateTable, TableName, TableReply, TableWithCounts } from './table-definition';

export class CountTableLeftovers {
  @PathParam()
  botId!: string;
}

/** What the tables service still holds of a bot: all zero once a deleted one is erased. */
export class TableLeftovers {
  @IsInt()
  tables!: number;

  @IsInt()
  rows!: number;
}

/** Everything that the tables service answers. */
export const tables = {
  create: operation({
    subject: 'tables.create',
    route: 'POST /v1/tables',
    summary: 'Creates a table.',
    access: bot.writeAlsoByIntegration,
    input: CreateTable,
    output: TableReply,
  }),
  get: operation({
    subject: 'tables.get',
    route: 'GET /v1/tables/{table}',
    summary: 'Gets a table by its name or id, with how many rows it has.',
    access: bot.readAlsoByIntegration,
    input: TableName,
    output: TableWithCounts,
  }),
  delete: operation({
    subject: 'tables.delete',
    route: 'DELETE /v1/tables/{table}',
    summary: 'Deletes a table with its rows.',
    access: bot.writeAlsoByIntegration,
    input: TableName,
    output: Empty,
  }),
  rows,
  countLeftovers: operation({
    subject: 'tables.countLeftovers',
    route: 'GET /operator/tables/bots/{botId}/leftovers',
    summary: 'Counts what the tables service still holds of a bot.',
    access: operator,
    input: CountTableLeftovers,
    output: TableLeftovers,
  }),
  deadLetters: deadLetterOperations('tables'),
};
