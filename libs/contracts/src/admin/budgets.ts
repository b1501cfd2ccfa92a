import { IsIn, IsInt, IsNumber, IsString, Max, Min } from 'class-validator';
import { workspace } from '../access';
import { OrNull } from '../fields';
import { consumer, event, operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';

const maxDollars = 1_000_000;
const maxTokens = 1_000_000_000_000;

/** Most that language models may cost in a month (UTC). Null: no limit. */
export class Budget {
  /** US dollars. Calls of models without prices cost nothing, so that only `tokens` limits them. */
  @OrNull() @IsNumber() @Min(0) @Max(maxDollars) dollars!: number | null;

  /** Tokens of prompts and answers. */
  @OrNull() @IsInt() @Min(0) @Max(maxTokens) tokens!: number | null;
}

export class BudgetBotId {
  @PathParam() botId!: string;
}

export class SetBotBudget extends Budget {
  @PathParam() botId!: string;
}

export class ChangeAiSpendQuota {
  /** US dollars a month. */
  @IsNumber() @Min(0) @Max(maxDollars) monthlySpendingLimit!: number;
}

export const budgetScopes = ['bot', 'workspace'] as const;
export type BudgetScope = (typeof budgetScopes)[number];

/** New amounts of a budget. Repeated and older events have no effect. */
export class BudgetChanged extends Budget {
  @IsIn(budgetScopes) scope!: BudgetScope;

  /** Id of the bot or workspace. */
  @IsString() scopeId!: string;

  /** Increases with every change. */
  @IsInt() version!: number;
}

export const budgetChanged = event({ subject: 'admin.budgetChanged', data: BudgetChanged });

export const keepBudget = consumer({ name: 'models.keepBudget', event: budgetChanged });

export const changeAiSpendQuota = operation({
  subject: 'admin.quotas.changeAiSpend',
  route: 'PUT /v1/admin/quotas/ai-spend',
  summary:
    'Sets how many US dollars language models may cost the workspace in a month; those without prices cost nothing. Its budget of tokens stays.',
  access: workspace.administer,
  input: ChangeAiSpendQuota,
  output: Empty,
});

/** Budgets for language models. */
export const budgets = {
  getOfWorkspace: operation({
    subject: 'admin.budgets.getOfWorkspace',
    route: 'GET /v1/admin/budget',
    summary: 'Gets the budget of the workspace for language models.',
    access: workspace.belong,
    isOwn: true,
    input: Empty,
    output: Budget,
  }),
  setOfWorkspace: operation({
    subject: 'admin.budgets.setOfWorkspace',
    route: 'PUT /v1/admin/budget',
    summary: 'Sets the budget of the workspace for language models. Without prices, only tokens limit them.',
    access: workspace.administer,
    isOwn: true,
    input: Budget,
    output: Empty,
  }),
  getOfBot: operation({
    subject: 'admin.budgets.getOfBot',
    route: 'GET /v1/admin/bots/{botId}/budget',
    summary: 'Gets the budget of a bot for language models. The budget of its workspace applies too.',
    access: workspace.read,
    isOwn: true,
    input: BudgetBotId,
    output: Budget,
  }),
  setOfBot: operation({
    subject: 'admin.budgets.setOfBot',
    route: 'PUT /v1/admin/bots/{botId}/budget',
    summary: 'Sets the budget of a bot for language models. Without prices, only tokens limit them.',
    access: workspace.administer,
    isOwn: true,
    input: SetBotBudget,
    output: Empty,
  }),
};
