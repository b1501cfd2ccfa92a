import { Controller } from '@nestjs/common';
import { type BotTransferred, moveBotInTables } from '@parley/contracts/admin/bots';
import { type BotTargetChanged, noteComputingBot } from '@parley/contracts/admin/targets';
import { type CellsComputed, storeCellsOfBot, storeCellsOfWorkflow } from '@parley/contracts/tables/computations';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { ComputedCellsService } from './computed-cells.service';
import { RecomputationService } from './recomputation.service';

@Controller()
export class ComputedColumnsHandler {
  constructor(
    private readonly recomputation: RecomputationService,
    private readonly cells: ComputedCellsService,
  ) {}

  /** Idempotent and independent of order: a revision that is not newer than the stored one changes nothing. */
  @Consumes(noteComputingBot)
  async noteBot(change: BotTargetChanged): Promise<void> {
    await this.recomputation.noteBot(change);
  }

  /** Safe to repeat and in any order: the newest transfer wins. */
  @Consumes(moveBotInTables)
  moveBot({ botId, workspaceId }: BotTransferred, { event }: Delivery): Promise<void> {
    return this.recomputation.moveBot(botId, workspaceId, event.id);
  }

  /** Idempotent, as `ComputedCellsService.store`. */
  @Consumes(storeCellsOfBot)
  storeOfBot(computed: CellsComputed): Promise<void> {
    return this.cells.store(computed);
  }

  /** Idempotent, as `ComputedCellsService.store`. */
  @Consumes(storeCellsOfWorkflow)
  storeOfWorkflow(computed: CellsComputed): Promise<void> {
    return this.cells.store(computed);
  }
}
