import { IsInt } from 'class-validator';
import { operator } from '../access';
import { operation } from '../operation';
import { PathParam } from '../query-fields';

export class CountModelLeftovers {
  @PathParam() botId!: string;
}

/** Rows that the service models holds of a bot; all zero after the erasure of a deleted bot. */
export class ModelLeftovers {
  @IsInt() modelCalls!: number;

  /** Answers kept for equal and for repeated requests. */
  @IsInt() storedAnswers!: number;

  /** Months in which the bot has used models. */
  @IsInt() modelSpends!: number;

  @IsInt() modelBudgets!: number;

  /** Kept prompts and answers, and the wish to keep them. */
  @IsInt() modelContents!: number;
}

export const countLeftovers = operation({
  subject: 'models.countLeftovers',
  route: 'GET /operator/models/bots/{botId}/leftovers',
  summary: 'Counts the rows that the service models holds of a bot.',
  access: operator,
  input: CountModelLeftovers,
  output: ModelLeftovers,
});
