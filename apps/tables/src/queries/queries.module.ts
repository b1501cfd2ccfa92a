import { Module } from '@nestjs/common';
import { SearchModule } from '../search/search.module';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { QueriesController } from './queries.controller';
import { QueriesRepository } from './queries.repository';
import { QueriesService } from './queries.service';
import { RowSearchService } from './row-search.service';

@Module({
  imports: [SearchModule, TableDefinitionsModule],
  controllers: [QueriesController],
  providers: [QueriesRepository, QueriesService, RowSearchService],
  exports: [QueriesRepository, QueriesService],
})
export class QueriesModule {}
