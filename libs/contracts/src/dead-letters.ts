import { IsInt, IsString } from 'class-validator';
import { operators } from './access';
import { ListOf, Optional } from './fields';
import { QueryInteger } from './query-fields';
import { operation } from './operation';

/** Dead letter: an event that a consumer has failed to process too often. */
export class DeadLetter {
  @IsString() id!: string;
  @IsString() consumer!: string;
  @IsString() subject!: string;
  @IsString() reason!: string;
  @IsInt() attempts!: number;
  @IsString() createdAt!: string;
}

export class ListDeadLetters {
  @QueryInteger({ min: 1, max: 1000 }) limit?: number;
}

export class DeadLetters {
  @ListOf(DeadLetter) deadLetters!: DeadLetter[];
}

export class ReplayDeadLetters {
  /** Id of one dead letter; all of them when absent. */
  @Optional() @IsString() id?: string;
}

export class Replayed {
  @IsInt() replayed!: number;
}

/** Operations that each service with consumers has, for the `parley dead-letters` command. */
export function deadLetterOperations(serviceName: string) {
  return {
    list: operation({
      subject: `${serviceName}.deadLetters.list`,
      route: `GET /operator/${serviceName}/dead-letters`,
      summary: 'Lists the dead letters of the consumers of this service, newest first.',
      access: operators,
      input: ListDeadLetters,
      output: DeadLetters,
    }),
    replay: operation({
      subject: `${serviceName}.deadLetters.replay`,
      route: `POST /operator/${serviceName}/dead-letters/replay`,
      summary: 'Replays dead letters: delivers them to their consumers again.',
      access: operators,
      input: ReplayDeadLetters,
      output: Replayed,
    }),
  };
}
