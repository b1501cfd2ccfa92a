import { Module } from '@nestjs/common';
import { IndexingMetricsService } from './indexing-metrics.service';
import { IndexingService } from './indexing.service';
import { IndexingWorkController } from './indexing-work.controller';
import { IndexingWorkRepository } from './indexing-work.repository';
import { IndexingWorkService } from './indexing-work.service';

@Module({
  controllers: [IndexingWorkController],
  providers: [IndexingMetricsService, IndexingService, IndexingWorkRepository, IndexingWorkService],
  exports: [IndexingService, IndexingWorkService],
})
export class IndexingWorkModule {}
