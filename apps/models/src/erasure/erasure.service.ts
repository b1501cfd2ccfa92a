import { Injectable } from '@nestjs/common';
import type { BotDeleted } from '@parley/contracts/admin/bots';
import { notFound } from '@parley/contracts/errors';
import type { ModelLeftovers } from '@parley/contracts/models/leftovers';
import { Database } from '@parley/persistence/database';
import { isUUID } from 'class-validator';
import { UseReportsService } from '../use/use-reports.service';
import { ErasureRepository } from './erasure.repository';

const rowsAtOnce = 5_000;

@Injectable()
export class ErasureService {
  constructor(
    private readonly database: Database,
    private readonly erasure: ErasureRepository,
    private readonly reports: UseReportsService,
  ) {}

  /** Erases the calls, answers, sums and budget of a deleted bot, and reports what it has spent. Idempotent. */
  async erase({ botId, workspaceId }: BotDeleted): Promise<void> {
    await this.erasure.insertTombstone(botId);
    while ((await this.erasure.deleteRows(botId, rowsAtOnce)) > 0);
    await this.database.transaction(async (tx) => {
      await this.reports.reportSpent(tx, new Map([[botId, workspaceId]]));
      await this.erasure.deleteSums(tx, botId);
    });
  }

  /** Throws ResourceNotFound for something else than an id of a bot. */
  async count(botId: string): Promise<ModelLeftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    return this.erasure.count(botId);
  }
}
