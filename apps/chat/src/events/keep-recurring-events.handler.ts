import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import {
  type ResolvedBotDefinition,
  keepRecurringEvents,
  type RecurringEventsChanged,
} from '@parley/contracts/admin/bot-definitions';
import { ApiError } from '@parley/contracts/errors';
import { BotDefinitionsCache } from '../bots/bot-definitions.cache';
import { RecurringEventsService } from './recurring-events.service';

@Controller()
export class KeepRecurringEventsHandler {
  constructor(
    private readonly botDefinitions: BotDefinitionsCache,
    private readonly recurring: RecurringEventsService,
  ) {}

  /** Idempotent and independent of order: a revision that is not newer than the stored one changes nothing. */
  @Consumes(keepRecurringEvents)
  async handle(change: RecurringEventsChanged): Promise<void> {
    const bot = await this.find(change);
    if (bot) await this.recurring.replace(bot);
  }

  /** Bot definition with at least the announced revision. Undefined for a deleted bot, whose rows are erased anyway. */
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
