import { Controller } from '@nestjs/common';
import { type BotTargetChanged, noteComputingBot } from '@parley/contracts/admin/targets';
import { type CellsComputed, storeCellsOfBot, storeCellsOfWorkflow } from '@parley/contracts/tables/computations';
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
