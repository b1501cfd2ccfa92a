import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { ExportTable, ImportTable, JobReply, Jobs } from '@parley/contracts/tables/jobs';
import type { TableName } from '@parley/contracts/tables/table-definition';
import { Database, type Transaction } from '@parley/database/database';
import { TableCatalog } from '../tables/table-catalog';
import { BotFiles } from './bot-files';
import { type JobCaller, type JobRow, type JobTask, toJob } from './job.entity';
import { JobRunner } from './job-runner';
import { JobsRepository, type NewJob } from './jobs.repository';

/** Jobs that a bot may ask for before the first of them has ended. */
const maxUnfinishedOfBot = 20;

@Injectable()
export class JobsService {
  constructor(
    private readonly database: Database,
    private readonly catalog: TableCatalog,
    private readonly files: BotFiles,
    private readonly jobs: JobsRepository,
    private readonly runner: JobRunner,
  ) {}

  export(caller: BotCaller, { table, format = 'csv', compress = true }: ExportTable): Promise<JobReply> {
    return this.ask(caller, table, { type: 'export', caller: asLater(caller), format, compress });
  }

  async import(caller: BotCaller, { table, fileId }: ImportTable): Promise<JobReply> {
    await this.catalog.current(caller.bot.id, table);
    const { id } = await this.files.get(caller, fileId);
    return this.ask(caller, table, { type: 'import', caller: asLater(caller), fileId: id });
  }

  async list({ bot }: BotCaller, { table }: TableName): Promise<Jobs> {
    const { id } = await this.catalog.current(bot.id, table);
    return { jobs: (await this.jobs.list(id)).map(toJob) };
  }

  /** Begins as soon as the transaction is committed. It ends with its table. */
  async start(tx: Transaction, job: NewJob): Promise<JobRow> {
    const row = await this.jobs.insert(tx, job);
    tx.afterCommit(() => this.runner.wake());
    return row;
  }

  private async ask({ bot }: BotCaller, name: string, task: JobTask): Promise<JobReply> {
    const table = await this.catalog.current(bot.id, name);
    const row = await this.database.transaction(async (tx) => {
      if ((await this.jobs.countUnfinished(tx, bot.id)) >= maxUnfinishedOfBot) {
        throw new ApiError(
          'LimitExceeded',
          `${maxUnfinishedOfBot} jobs of this bot wait or are under way. Wait until one of them has ended.`,
        );
      }
      return this.start(tx, { botId: bot.id, tableId: table.id, task });
    });
    return { job: toJob(row) };
  }
}

/** Who asks, without what belongs to this one request. */
function asLater({ address: _address, traceparent: _traceparent, ...caller }: BotCaller): JobCaller {
  return caller;
}
