import { Module } from '@nestjs/common';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { ReindexController } from './reindex.controller';
import { ReindexService } from './reindex.service';
import { RowIndexService } from './row-index.service';
import { RowPointsService } from './row-points.service';
import { UnindexedRowsRepository } from './unindexed-rows.repository';

@Module({
  imports: [TableDefinitionsModule],
  controllers: [ReindexController],
  providers: [ReindexService, RowIndexService, RowPointsService, UnindexedRowsRepository],
  exports: [RowPointsService],
})
export class SearchModule {}
