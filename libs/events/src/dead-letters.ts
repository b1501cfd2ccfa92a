import { Controller, type Type } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import {
  type deadLetterOperations,
  ListDeadLetters,
  type DeadLetters,
  ReplayDeadLetters,
  type Replayed,
} from '@parley/contracts/dead-letters';
import { notFound } from '@parley/contracts/errors';
import { DeadLettersRepository } from './dead-letters.repository';
import { Outbox } from './outbox';

/** Controller for the dead-letter operations of one service. A replayed event goes only to the consumer that gave it up. */
export function deadLettersController(operations: ReturnType<typeof deadLetterOperations>): Type {
  @Controller()
  class DeadLettersController {
    constructor(
      private readonly letters: DeadLettersRepository,
      private readonly outbox: Outbox,
    ) {}

    @Handles(operations.list)
    async list(_caller: Caller, { limit }: ListDeadLetters): Promise<DeadLetters> {
      return { deadLetters: await this.letters.listNewest(limit ?? 100) };
    }

    @Handles(operations.replay)
    async replay(_caller: Caller, { id }: ReplayDeadLetters): Promise<Replayed> {
      const replayed = await this.letters.deleteForReplay(id, (tx, letters) => this.outbox.repeat(tx, letters));
      if (id && replayed === 0) throw notFound('dead letter', id);
      return { replayed };
    }
  }
  return DeadLettersController;
}
