import { Controller } from '@nestjs/common';
import { type BudgetReached, recordBudgetIssue } from '@parley/contracts/models/use';
import { Inbox } from '@parley/events/inbox';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { IssueRecordsService } from './issue-records.service';

const near = { code: 'model_budget_near', title: 'A budget for language models is used up to 80 %' };
const full = { code: 'model_budget_reached', title: 'A budget for language models refuses calls' };

/** Safe to repeat: the inbox deduplicates events. */
@Controller()
export class BudgetIssuesHandler {
  constructor(
    private readonly issues: IssueRecordsService,
    private readonly inbox: Inbox,
  ) {}

  @Consumes(recordBudgetIssue)
  async handle({ botId, percent, ...budget }: BudgetReached, { event }: Delivery): Promise<void> {
    await this.inbox.once(recordBudgetIssue.name, event.id, (tx) =>
      this.issues.recordIn(tx, {
        ...(percent === 80 ? near : full),
        botId,
        category: 'limits',
        description: descriptionOf({ percent, ...budget }),
        data: { scope: { raw: budget.scope }, month: { raw: budget.month } },
        groupBy: ['scope', 'month'],
      }),
    );
  }
}

function descriptionOf({ scope, month, percent, maxDollars, maxTokens }: Omit<BudgetReached, 'botId'>): string {
  const amounts = [
    ...(maxDollars === undefined ? [] : [`$${maxDollars}`]),
    ...(maxTokens === undefined ? [] : [`${maxTokens} tokens`]),
  ];
  const budget = `the budget of the ${scope} for language models in ${month} (${amounts.join(', ')})`;
  return percent === 80
    ? `80 % of ${budget} are used. Calls are refused when all of it is used.`
    : `Calls are refused with QuotaExceeded, since they might exceed ${budget}: raise it, or wait for the next month.`;
}
