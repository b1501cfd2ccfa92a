import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import { type BotDeleted, endUsage } from '@parley/contracts/admin/bots';
import { recordUsage, type UsageChanged } from '@parley/contracts/admin/usage';
import { Database } from '@parley/persistence/database';
import { UsageRepository } from './usage.repository';

@Controller()
export class RecordUsageHandler {
  constructor(
    private readonly database: Database,
    private readonly usage: UsageRepository,
  ) {}

  /** Safe to repeat and in any order: keeps the newest amount of a day. */
  @Consumes(recordUsage)
  async record(change: UsageChanged): Promise<void> {
    await this.usage.upsertReported(change);
  }

  /** Safe to repeat: amounts of zero stay zero. */
  @Consumes(endUsage)
  async end({ botId, workspaceId }: BotDeleted): Promise<void> {
    await this.database.transaction((tx) => this.usage.endUsageOfBot(tx, botId, workspaceId));
  }
}
