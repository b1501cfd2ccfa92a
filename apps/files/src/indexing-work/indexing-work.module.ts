import { Module } from '@nestjs/common';
import { IndexingService } from './indexing.service';
import { IndexingWorkController } from './indexing-work.controller';
import { IndexingWorkRepository } from './indexing-work.repository';
import { IndexingWorkService } from './indexing-work.service';

@Module({
  controllers: [IndexingWorkController],
  providers: [IndexingService, IndexingWorkRepository, IndexingWorkService],
  exports: [IndexingService, IndexingWorkRepository],
})
export class IndexingWorkModule {}
