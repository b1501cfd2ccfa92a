import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { ExportTable, ImportTable, JobReply, Jobs } from '@parley/contracts/tables/jobs';
import type { TableName } from '@parley/contracts/tables/table-definition';
import { tables } from '@parley/contracts/tables/tables';
import { Database, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { BotsRepository } from '../bots/bots.repository';
import { JobsRepository } from '../jobs/jobs.repository';
import { type JobCaller, type JobTask, toJob } from '../jobs/job.entity';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { BotFilesClient } from './bot-files.client';

const maxUnfinishedOfBot = 20;

@Injectable()
export class ImportsExportsService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly bots: BotsRepository,
    private readonly tableCache: TableCache,
    private readonly files: BotFilesClient,
    private readonly jobs: JobsRepository,
  ) {}

  async export(caller: BotCaller, { table: name, format = 'csv', compress = true }: ExportTable): Promise<JobReply> {
    const table = await this.tableCache.current(caller.bot.id, name);
    const task = { type: 'export', caller: withoutRequest(caller), format, compress } as const;
    return this.database.transaction((tx) => this.add(tx, table, task));
  }

  async import(caller: BotCaller, input: ImportTable): Promise<JobReply> {
    const known = await this.idempotency.find<JobReply>(caller, tables.jobs.import, input);
    if (known) return known;
    const table = await this.tableCache.current(caller.bot.id, input.table);
    const { id } = await this.files.get(caller, input.fileId);
    await this.bots.noteHome(caller.bot);
    const task = { type: 'import', caller: withoutRequest(caller), fileId: id } as const;
    return this.idempotency.run(caller, tables.jobs.import, input, (tx) => this.add(tx, table, task));
  }

  async list({ bot }: BotCaller, { table }: TableName): Promise<Jobs> {
    const { id } = await this.tableCache.current(bot.id, table);
    return { jobs: (await this.jobs.listNewestOfTable(id)).map(toJob) };
  }

  private async add(tx: Transaction, { bot_id, id }: CachedTable, task: JobTask): Promise<JobReply> {
    if ((await this.jobs.countUnfinished(tx, bot_id)) >= maxUnfinishedOfBot) {
      throw new ApiError(
        'LimitExceeded',
        `At most ${maxUnfinishedOfBot} unfinished jobs per bot. Wait until one of them has ended.`,
      );
    }
    return { job: toJob(await this.jobs.queueJob(tx, { botId: bot_id, tableId: id, task })) };
  }
}

function withoutRequest({
  address: _address,
  traceparent: _traceparent,
  idempotencyKey: _key,
  ...caller
}: BotCaller): JobCaller {
  return caller;
}
