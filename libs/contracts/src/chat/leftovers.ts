import { IsInt } from 'class-validator';
import { operator } from '../access';
import { operation } from '../operation';
import { PathParam } from '../query-fields';

export class CountChatLeftovers {
  @PathParam() botId!: string;
}

/** Rows that the chat service holds of a bot; all zero after the erasure of a deleted bot. */
export class ChatLeftovers {
  @IsInt() users!: number;
  @IsInt() conversations!: number;
  @IsInt() participants!: number;

  /** Includes scheduled messages. */
  @IsInt() messages!: number;

  /** Includes recurring events. */
  @IsInt() events!: number;

  @IsInt() states!: number;
  @IsInt() workflows!: number;
  @IsInt() tags!: number;
  @IsInt() signals!: number;

  /** Custom counts and observations. */
  @IsInt() analytics!: number;

  /** Stored answers for idempotency keys. */
  @IsInt() chatAnswers!: number;
}

export const countLeftovers = operation({
  subject: 'chat.countLeftovers',
  route: 'GET /operator/chat/bots/{botId}/leftovers',
  summary: 'Counts the rows that the chat service holds of a bot.',
  access: operator,
  input: CountChatLeftovers,
  output: ChatLeftovers,
});
