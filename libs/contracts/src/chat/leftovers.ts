import { IsInt } from 'class-validator';
import { operator } from '../access';
import { operation } from '../operation';
import { PathParam } from '../query-fields';

export class CountChatLeftovers {
  @PathParam()
  botId!: string;
}

/** What the chat service still holds of a bot: all zero once a deleted one is erased. */
export class ChatLeftovers {
  @IsInt()
  users!: number;

  @IsInt()
  conversations!: number;

  @IsInt()
  participants!: number;

  /** Scheduled ones too. */
  @IsInt()
  messages!: number;

  /** Recurring ones too. */
  @IsInt()
  events!: number;

  @IsInt()
  states!: number;

  @IsInt()
  workflows!: number;

  @IsInt()
  tags!: number;

  @IsInt()
  signals!: number;

  /** What is kept to answer a request that comes again with its idempotency key. */
  @IsInt()
  chatAnswers!: number;
}

export const countLeftovers = operation({
  subject: 'chat.countLeftovers',
  route: 'GET /operator/chat/bots/{botId}/leftovers',
  summary: 'Counts what the chat service still holds of a bot.',
  access: operator,
  input: CountChatLeftovers,
  output: ChatLeftovers,
});
