import { Module } from '@nestjs/common';
import { ModelsModule } from '../models/models.module';
import { DocumentReaderService } from './document-reader.service';
import { IndexFileHandler } from './index-file.handler';
import { IndexerService } from './indexer.service';
import { IndexingJobService } from './indexing-job.service';
import { PointsService } from './points.service';

@Module({
  imports: [ModelsModule],
  controllers: [IndexFileHandler],
  providers: [DocumentReaderService, IndexerService, IndexingJobService, PointsService],
})
export class IndexingModule {}
