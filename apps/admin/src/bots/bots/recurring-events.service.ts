import { Injectable } from '@nestjs/common';
import { recurringEventsChanged } from '@parley/contracts/admin/bot-definitions';
import type { UpdateBot } from '@parley/contracts/admin/bots';
import { definitionLimits } from '@parley/contracts/definition';
import { Outbox } from '@parley/events/outbox';
import type { Transaction } from '@parley/persistence/database';
import { AdminConfig } from '../../config';
import { requireAtMost } from '../installations/bot-definition';
import { allRecurringEvents } from '../installations/merged-definition';
import { QuotasService } from '../../people/usage/quotas.service';
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
  check({ recurringEvents, plugins = {} }: Pick<UpdateBot, 'recurringEvents' | 'plugins'>): void {
    checkRecurringEvents(recurringEvents, this.config);
    for (const [alias, plugin] of Object.entries(plugins))
      checkRecurringEvents(plugin?.definition?.recurringEvents, this.config, `plugins.${alias}.definition.`);
  }

  /**
   * Reserves storage for the recurring events of the bot and its plugins, and announces them as changed. Needs the
   * workspace lock. Throws InvalidPayload for too many, and QuotaExceeded when their payloads exceed the storage quota.
   */
  async reserveAndAnnounce(tx: Transaction, { id: botId, workspace_id, definition, plugins }: BotRow): Promise<void> {
    const events = allRecurringEvents(definition.recurringEvents, plugins);
    requireAtMost(definitionLimits.recurringEvents, 'recurringEvents, with those of the plugins,', events);
    const bytes = recurringBytes(events, this.config);
    await this.quotas.reserveForRecurringEvents(tx, { botId, workspaceId: workspace_id, bytes });
    const revision = await this.bots.incrementRecurringEventsRevision(tx, botId);
    await this.outbox.add(tx, recurringEventsChanged, { botId, revision });
  }
}
