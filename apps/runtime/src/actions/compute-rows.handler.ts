import { Controller } from '@nestjs/common';
import { type ComputationRequested, computeRowsByBot } from '@parley/contracts/tables/computations';
import { Inbox } from '@parley/events/inbox';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { rowComputations, toRowComputation } from './row-computation-queue';

/** Safe to repeat: the inbox deduplicates events, so that the bot is not called again. */
@Controller()
export class ComputeRowsHandler {
  constructor(
    private readonly work: WorkQueue,
    private readonly inbox: Inbox,
  ) {}

  @Consumes(computeRowsByBot)
  async handle(request: ComputationRequested, { event }: Delivery): Promise<void> {
    await this.inbox.once(computeRowsByBot.name, event.id, (tx) =>
      this.work.add(tx, rowComputations, [toRowComputation(request)]),
    );
  }
}
