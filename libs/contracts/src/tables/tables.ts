import { IsInt } from 'class-validator';
import { bot, operator } from '../access';
import { deadLetterOperations } from '../dead-letters';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';
import { ExportTable, ImportTable, JobReply, Jobs } from './jobs';
import { reindexRows, reindexWords } from './reindex';
import { rows } from './rows';
import {
  CreateTable,
  DuplicatedTable,
  DuplicateTable,
  GetOrCreateTable,
  GottenOrCreatedTable,
  ListTables,
  RenameTableColumn,
  TableName,
  TableReply,
  Tables,
  TableWithCounts,
  UpdatedTable,
  UpdateTable,
} from './table-definition';
import { workAdded, workOperations } from '../work';

export class CountTableLeftovers {
  @PathParam() botId!: string;
}

/** Data that the tables service holds of a bot; all zero after the erasure of a deleted bot. */
export class TableLeftovers {
  @IsInt() tables!: number;
  @IsInt() rows!: number;

  /** Stored answers for idempotency keys. */
  @IsInt() tableAnswers!: number;
}

/** A change of the key column, or of computed or searchable columns, reads all rows. */
const changeTimeoutMs = 30_000;

export const tablesWorkAdded = workAdded('tables');

export const tables = {
  create: operation({
    subject: 'tables.create',
    route: 'POST /v1/tables',
    summary: 'Creates a table.',
    access: bot.writeAlsoByIntegration,
    input: CreateTable,
    output: TableReply,
    isIdempotent: true,
  }),
  get: operation({
    subject: 'tables.get',
    route: 'GET /v1/tables/{table}',
    summary: 'Gets a table by its name or id, with its number of rows.',
    access: bot.readAlsoByIntegration,
    input: TableName,
    output: TableWithCounts,
  }),
  getOrCreate: operation({
    subject: 'tables.getOrCreate',
    route: 'POST /v1/tables/{table}',
    summary: 'Gets a table by its name or id, or creates it when it does not exist.',
    access: bot.writeAlsoByIntegration,
    input: GetOrCreateTable,
    output: GottenOrCreatedTable,
    isIdempotent: true,
  }),
  list: operation({
    subject: 'tables.list',
    route: 'GET /v1/tables',
    summary: 'Lists the tables of a bot, oldest first.',
    access: bot.readAlsoByIntegration,
    input: ListTables,
    output: Tables,
  }),
  update: operation({
    subject: 'tables.update',
    route: 'PUT /v1/tables/{table}',
    summary: 'Updates a table. Absent fields stay unchanged.',
    access: bot.writeAlsoByIntegration,
    input: UpdateTable,
    output: UpdatedTable,
    timeoutMs: changeTimeoutMs,
  }),
  renameColumn: operation({
    subject: 'tables.renameColumn',
    route: 'PUT /v1/tables/{table}/column',
    summary: 'Renames a column. Its values are kept.',
    access: bot.writeAlsoByIntegration,
    input: RenameTableColumn,
    output: TableReply,
  }),
  duplicate: operation({
    subject: 'tables.duplicate',
    route: 'POST /v1/tables/{sourceTableId}/duplicate',
    summary: 'Copies a table with its rows, or only its schema.',
    access: bot.writeAlsoByIntegration,
    input: DuplicateTable,
    output: DuplicatedTable,
    isIdempotent: true,
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
  jobs: {
    export: operation({
      subject: 'tables.jobs.export',
      route: 'GET /v1/tables/{table}/export',
      summary: 'Starts a job that exports the rows of a table to a file of the bot.',
      access: bot.write,
      input: ExportTable,
      output: JobReply,
    }),
    import: operation({
      subject: 'tables.jobs.import',
      route: 'POST /v1/tables/{table}/import',
      summary: 'Starts a job that imports the rows of a file of the bot into a table.',
      access: bot.write,
      input: ImportTable,
      output: JobReply,
      isIdempotent: true,
    }),
    list: operation({
      subject: 'tables.jobs.list',
      route: 'GET /v1/tables/{table}/jobs',
      summary: 'Lists the last 100 jobs of a table, newest first.',
      access: bot.read,
      input: TableName,
      output: Jobs,
    }),
  },
  countLeftovers: operation({
    subject: 'tables.countLeftovers',
    route: 'GET /operator/tables/bots/{botId}/leftovers',
    summary: 'Counts the data that the tables service holds of a bot.',
    access: operator,
    input: CountTableLeftovers,
    output: TableLeftovers,
  }),
  reindex: reindexRows,
  reindexWords,
  deadLetters: deadLetterOperations('tables'),
  work: workOperations('tables'),
};
