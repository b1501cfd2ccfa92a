import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ModelsClient } from '@parley/service/models.client';
import { CellComputerService } from './computed-columns/cell-computer.service';
import { CellRequestsService } from './computed-columns/cell-requests.service';
import { ComputedCellsService } from './computed-columns/computed-cells.service';
import { ComputedColumnsHandler } from './computed-columns/computed-columns.handler';
import { RecomputationService } from './computed-columns/recomputation.service';
import { RequestedCellsRepository } from './computed-columns/requested-cells.repository';
import { RowComputerService } from './computed-columns/row-computer.service';
import { StaleRowsRepository } from './computed-columns/stale-rows.repository';
import { DefinitionsModule } from './definitions.module';
import { EraseBotHandler } from './erasure/erase-bot.handler';
import { ErasureController } from './erasure/erasure.controller';
import { ErasureRepository } from './erasure/erasure.repository';
import { ErasureService } from './erasure/erasure.service';
import { QueriesRepository } from './queries/queries.repository';
import { QueriesService } from './queries/queries.service';
import { RowSearchService } from './queries/row-search.service';
import { InsertQueueService } from './rows/insert-queue.service';
import { RowChangesRepository } from './rows/row-changes.repository';
import { RowChangesService } from './rows/row-changes.service';
import { RowDeletionsRepository } from './rows/row-deletions.repository';
import { RowDeletionsService } from './rows/row-deletions.service';
import { RowTargetsService } from './rows/row-targets.service';
import { RowsController } from './rows/rows.controller';
import { RowsRepository } from './rows/rows.repository';
import { RowsService } from './rows/rows.service';
import { WrittenRowsService } from './rows/written-rows.service';
import { ReindexController } from './search/reindex.controller';
import { ReindexService } from './search/reindex.service';
import { RowIndexService } from './search/row-index.service';
import { RowModelRepository } from './search/row-model.repository';
import { RowModelService } from './search/row-model.service';
import { RowModelEntity } from './search/row-point.entity';
import { RowPointsService } from './search/row-points.service';
import { RowWordsService } from './search/row-words.service';
import { UnindexedRowsRepository } from './search/unindexed-rows.repository';
import { WordedTablesRepository } from './search/worded-tables.repository';
import { TableEntity } from './tables/table.entity';

/** Rows: how they are written, computed, indexed, found and erased. */
@Module({
  imports: [DefinitionsModule, TypeOrmModule.forFeature([RowModelEntity, TableEntity])],
  controllers: [RowsController, ComputedColumnsHandler, ReindexController, ErasureController, EraseBotHandler],
  providers: [
    RowsService,
    RowsRepository,
    RowChangesService,
    RowChangesRepository,
    RowDeletionsService,
    RowDeletionsRepository,
    RowTargetsService,
    WrittenRowsService,
    InsertQueueService,
    QueriesService,
    QueriesRepository,
    RowSearchService,
    CellComputerService,
    CellRequestsService,
    ComputedCellsService,
    RecomputationService,
    RequestedCellsRepository,
    RowComputerService,
    StaleRowsRepository,
    ModelsClient,
    ReindexService,
    RowIndexService,
    RowModelService,
    RowModelRepository,
    RowPointsService,
    UnindexedRowsRepository,
    RowWordsService,
    WordedTablesRepository,
    ErasureService,
    ErasureRepository,
  ],
  exports: [RowsRepository],
})
export class RowsModule {}
