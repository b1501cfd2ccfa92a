import { Controller } from '@nestjs/common';
import { ifFound } from '@parley/contracts/errors';
import { startColumnWorkflow, type WorkflowRequested } from '@parley/contracts/tables/computations';
import { Inbox } from '@parley/events/inbox';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { BotDefinitionsCache } from '../bots/bot-definitions.cache';
import { ColumnWorkflowsService } from './column-workflows.service';

/** Safe to repeat: the inbox deduplicates events. */
@Controller()
export class StartColumnWorkflowHandler {
  constructor(
    private readonly bots: BotDefinitionsCache,
    private readonly columns: ColumnWorkflowsService,
    private readonly inbox: Inbox,
  ) {}

  @Consumes(startColumnWorkflow)
  async handle(request: WorkflowRequested, { event }: Delivery): Promise<void> {
    // The bot is deleted, and so are its tables.
    if (!(await ifFound(this.bots.get(request.botId)))) return;
    await this.inbox.once(startColumnWorkflow.name, event.id, (tx) => this.columns.start(tx, request));
  }
}
