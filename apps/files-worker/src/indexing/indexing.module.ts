import { Module } from '@nestjs/common';
import { ModelsModule } from '../models/models.module';
import { DocumentAdvisersService } from './document-advisers.service';
import { DocumentReaderService } from './document-reader.service';
import { IndexFileHandler } from './index-file.handler';
import { IndexerService } from './indexer.service';
import { IndexingJobService } from './indexing-job.service';
import { OcrService } from './ocr.service';
import { PointsService } from './points.service';
import { SummarizerService } from './summarizer.service';

@Module({
  imports: [ModelsModule],
  controllers: [IndexFileHandler],
  providers: [
    DocumentAdvisersService,
    DocumentReaderService,
    IndexerService,
    IndexingJobService,
    OcrService,
    PointsService,
    SummarizerService,
  ],
})
export class IndexingModule {}
