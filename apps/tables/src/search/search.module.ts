import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { TableEntity } from '../tables/table.entity';
import { ReindexController } from './reindex.controller';
import { ReindexService } from './reindex.service';
import { RowIndexService } from './row-index.service';
import { RowModelEntity } from './row-model.entity';
import { RowModelRepository } from './row-model.repository';
import { RowModelService } from './row-model.service';
import { RowPointsService } from './row-points.service';
import { RowWordsService } from './row-words.service';
import { UnindexedRowsRepository } from './unindexed-rows.repository';
import { WordedTablesRepository } from './worded-tables.repository';

@Module({
  imports: [TableDefinitionsModule, TypeOrmModule.forFeature([RowModelEntity, TableEntity])],
  controllers: [ReindexController],
  providers: [
    ReindexService,
    RowModelService,
    RowModelRepository,
    RowIndexService,
    RowPointsService,
    UnindexedRowsRepository,
    RowWordsService,
    WordedTablesRepository,
  ],
  exports: [RowPointsService],
})
export class SearchModule {}
