import { Module } from '@nestjs/common';
import { ComputedColumnsModule } from '../computed-columns/computed-columns.module';
import { QueriesModule } from '../queries/queries.module';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { InsertQueueService } from './insert-queue.service';
import { RowChangesRepository } from './row-changes.repository';
import { RowChangesService } from './row-changes.service';
import { RowDeletionsRepository } from './row-deletions.repository';
import { RowDeletionsService } from './row-deletions.service';
import { RowTargetsService } from './row-targets.service';
import { RowsController } from './rows.controller';
import { RowsRepository } from './rows.repository';
import { RowsService } from './rows.service';
import { WrittenRowsService } from './written-rows.service';

@Module({
  imports: [ComputedColumnsModule, QueriesModule, TableDefinitionsModule],
  controllers: [RowsController],
  providers: [
    InsertQueueService,
    RowChangesRepository,
    RowChangesService,
    RowDeletionsRepository,
    RowDeletionsService,
    RowsRepository,
    RowsService,
    RowTargetsService,
    WrittenRowsService,
  ],
  exports: [RowsRepository],
})
export class RowsModule {}
