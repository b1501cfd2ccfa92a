import { Injectable } from '@nestjs/common';
import { recurringEventsChanged } from '@parley/contracts/admin/bot-definitions';
import type { RecurringEventDefinition } from '@parley/contracts/definition';
import { Outbox } from '@parley/events/outbox';
import type { Transaction } from '@parley/persistence/database';
import { AdminConfig } from '../config';
import { QuotasService } from '../usage/quotas.service';
import type { BotRow } from './bot.entity';
import { BotsRepository } from './bots.repository';
import { checkRecurringEvents, recurringBytes } from './recurring-limits';

@Injectable()
export class RecurringEventsService {
  constructor(
    private readonly bots: BotsRepository,
    private readonly quotas: QuotasService,
    private readonly outbox: Outbox,
    private readonly config: AdminConfig,
  ) {}

  /** Throws InvalidPayload for a schedule whose shortest interval is below the limit. */
  check(events: Record<string, RecurringEventDefinition | null> | undefined): void {
    checkRecurringEvents(events, this.config);
  }

  /**
   * Reserves storage for the bot's recurring events and announces them as changed. Needs the workspace lock. Throws
   * QuotaExceeded when their payloads exceed the storage quota.
   */
  async reserveAndAnnounce(tx: Transaction, { id: botId, workspace_id, definition }: BotRow): Promise<void> {
    const bytes = recurringBytes(definition.recurringEvents, this.config);
    await this.quotas.reserveForRecurringEvents(tx, { botId, workspaceId: workspace_id, bytes });
    const revision = await this.bots.incrementRecurringEventsRevision(tx, botId);
    await this.outbox.add(tx, recurringEventsChanged, { botId, revision });
  }
}
