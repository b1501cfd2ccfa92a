import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import {
  type ResolvedBotDefinition,
  keepRecurringEvents,
  type RecurringEventsChanged,
} from '@parley/contracts/admin/bot-definitions';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { BotDefinitionsCache } from '../bot-definitions/bot-definitions.cache';
import { firstTime } from './cron-time';
import { RecurringEvents } from './recurring-events';
import { RecurringEventsRepository } from './recurring-events.repository';

@Controller()
export class KeepRecurringEventsHandler {
  constructor(
    private readonly database: Database,
    private readonly botDefinitions: BotDefinitionsCache,
    private readonly recurring: RecurringEventsRepository,
    private readonly recurringEvents: RecurringEvents,
  ) {}

  /** Idempotent and independent of order: a revision that is not newer than the stored one changes nothing. */
  @Consumes(keepRecurringEvents)
  async handle(change: RecurringEventsChanged): Promise<void> {
    const bot = await this.find(change);
    if (!bot) return;
    const { botId, recurringEvents, recurringEventsRevision } = bot;
    await this.database.transaction(async (tx) => {
      const now = await this.recurring.isNews(tx, botId, recurringEventsRevision);
      if (!now) return;
      const rows = Object.entries(recurringEvents).map(([name, { type, payload, schedule }]) => ({
        ...{ bot_id: botId, name, type, payload },
        cron: schedule.cron,
        ...firstTime(schedule.cron, now),
      }));
      await this.recurring.replace(tx, botId, rows);
      tx.afterCommit(() => this.recurringEvents.wake());
    });
  }

  /** Bot runtime with at least the announced revision. Undefined for a deleted bot, whose rows are erased anyway. */
  private async find({ botId, revision }: RecurringEventsChanged): Promise<ResolvedBotDefinition | undefined> {
    try {
      const bot = await this.botDefinitions.find(botId, (found) =>
        found.recurringEventsRevision >= revision ? found : undefined,
      );
      if (!bot)
        throw new Error(`Bot ${botId}: revision ${revision} of its recurring events is not visible in admin yet.`);
      return bot;
    } catch (error) {
      if (error instanceof ApiError && error.type === 'ResourceNotFound') return undefined;
      throw error;
    }
  }
}
