import { Module } from '@nestjs/common';
import { ReindexModule } from '../reindex/reindex.module';
import { SearchController } from './search.controller';
import { SearchService } from './search.service';

@Module({
  imports: [ReindexModule],
  controllers: [SearchController],
  providers: [SearchService],
})
export class SearchModule {}
