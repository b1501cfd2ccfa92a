import { Module } from '@nestjs/common';
import { Completions } from '@parley/openai/completions';
import { TablesConfig } from '../config';
import { ComputingBotsModule } from '../computing-bots/computing-bots.module';
import { SandboxModule } from '../sandbox/sandbox.module';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { CellComputerService } from './cell-computer.service';
import { CellRequestsService } from './cell-requests.service';
import { ComputedCellsService } from './computed-cells.service';
import { NoteComputingBotHandler } from './note-computing-bot.handler';
import { RecomputationService } from './recomputation.service';
import { RequestedCellsRepository } from './requested-cells.repository';
import { RowComputerService } from './row-computer.service';
import { StaleRowsRepository } from './stale-rows.repository';
import { StoreCellsHandler } from './store-cells.handler';

@Module({
  imports: [ComputingBotsModule, SandboxModule, TableDefinitionsModule],
  controllers: [NoteComputingBotHandler, StoreCellsHandler],
  providers: [
    CellComputerService,
    CellRequestsService,
    ComputedCellsService,
    RecomputationService,
    RequestedCellsRepository,
    RowComputerService,
    StaleRowsRepository,
    { provide: Completions, useFactory: (config: TablesConfig) => new Completions(config), inject: [TablesConfig] },
  ],
  exports: [RowComputerService],
})
export class ComputedColumnsModule {}
