import { IsInt, IsString } from 'class-validator';
import { operator } from './access';
import { ListOf, Optional } from './fields';
import { QueryInteger } from './query-fields';
import { operation } from './operation';

/** An event that a consumer gave up on. */
export class DeadLetter {
  @IsString()
  id!: string;

  @IsString()
  consumer!: string;

  @IsString()
  subject!: string;

  @IsString()
  reason!: string;

  @IsInt()
  attempts!: number;

  @IsString()
  createdAt!: string;
}

export class ListDeadLetters {
  @QueryInteger({ min: 1, max: 1000 })
  limit?: number;
}

export class DeadLetters {
  @ListOf(DeadLetter)
  deadLetters!: DeadLetter[];
}

export class ReplayDeadLetters {
  /** One letter; all of them when absent. */
  @Optional()
  @IsString()
  id?: string;
}

export class Replayed {
  @IsInt()
  replayed!: number;
}

/** The same two operations for each service, for the `parley dead-letters` command. */
export function deadLetterOperations(serviceName: string) {
  return {
    list: operation({
      subject: `${serviceName}.deadLetters.list`,
      route: `GET /operator/${serviceName}/dead-letters`,
      summary: 'Lists the events that a consumer of this service gave up on, newest first.',
      access: operator,
      input: ListDeadLetters,
      output: DeadLetters,
    }),
    replay: operation({
      subject: `${serviceName}.deadLetters.replay`,
      route: `POST /operator/${serviceName}/dead-letters/replay`,
      summary: 'Hands dead letters to their consumers again.',
      access: operator,
      input: ReplayDeadLetters,
      output: Replayed,
    }),
  };
}
