import { Injectable } from '@nestjs/common';
import { Consumes } from '@parley/bus/handles';
import { type BotDeleted, endUsage } from '@parley/contracts/admin/bots';
import { recordUsage, type UsageChanged } from '@parley/contracts/admin/usage';
import { Database } from '@parley/database/database';
import { UsageRepository } from './usage.repository';

/** Keeps what services tell of what they count. */
@Injectable()
export class RecordUsageHandler {
  constructor(
    private readonly database: Database,
    private readonly usage: UsageRepository,
  ) {}

  /** Safe to repeat and in any order: the newest amount of a day stays. */
  @Consumes(recordUsage)
  async record(change: UsageChanged): Promise<void> {
    await this.usage.record(change);
  }

  /** Safe to repeat: what is nothing already stays nothing. */
  @Consumes(endUsage)
  async end({ botId, workspaceId }: BotDeleted): Promise<void> {
    await this.database.transaction((tx) => this.usage.endBot(tx, botId, workspaceId));
  }
}
