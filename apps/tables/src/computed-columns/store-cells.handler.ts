import { Controller } from '@nestjs/common';
import { type CellsComputed, storeCellsOfBot, storeCellsOfWorkflow } from '@parley/contracts/tables/computations';
import { Consumes } from '@parley/transport/handles';
import { ComputedCellsService } from './computed-cells.service';

@Controller()
export class StoreCellsHandler {
  constructor(private readonly cells: ComputedCellsService) {}

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
