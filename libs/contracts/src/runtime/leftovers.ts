import { IsInt } from 'class-validator';
import { operator } from '../access';
import { operation } from '../operation';
import { PathParam } from '../query-fields';

export class CountRuntimeLeftovers {
  @PathParam() botId!: string;
}

/** Rows that the runtime holds of a bot; all zero after the erasure of a deleted bot. */
export class RuntimeLeftovers {
  /** Includes deliveries that are waiting. */
  @IsInt() deliveries!: number;

  @IsInt() messageDeliveries!: number;
  @IsInt() issues!: number;
  @IsInt() actionRuns!: number;
  @IsInt() logLines!: number;

  /** Installations whose webhook requests are recorded. */
  @IsInt() webhookRecordings!: number;

  /** Months with calls of the bot. */
  @IsInt() callCounts!: number;
}

export const countLeftovers = operation({
  subject: 'runtime.countLeftovers',
  route: 'GET /operator/runtime/bots/{botId}/leftovers',
  summary: 'Counts the rows that the runtime holds of a bot.',
  access: operator,
  input: CountRuntimeLeftovers,
  output: RuntimeLeftovers,
});
