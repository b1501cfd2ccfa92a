import { Module } from '@nestjs/common';
import { Completions } from '@parley/openai/completions';
import { TablesConfig } from '../config';
import { SandboxModule } from '../sandbox/sandbox.module';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { CellComputerService } from './cell-computer.service';
import { RowComputerService } from './row-computer.service';
import { StaleRowsRepository } from './stale-rows.repository';

@Module({
  imports: [SandboxModule, TableDefinitionsModule],
  providers: [
    CellComputerService,
    RowComputerService,
    StaleRowsRepository,
    { provide: Completions, useFactory: (config: TablesConfig) => new Completions(config), inject: [TablesConfig] },
  ],
  exports: [RowComputerService],
})
export class ComputedColumnsModule {}
