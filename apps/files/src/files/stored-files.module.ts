import { Module } from '@nestjs/common';
import { ContentModule } from '../content/content.module';
import { IndexingWorkModule } from '../indexing-work/indexing-work.module';
import { CopiesService } from './copies.service';
import { DeclarationsService } from './declarations.service';
import { DestinationsService } from './destinations.service';
import { FileLookupService } from './file-lookup.service';
import { FilesController } from './files.controller';
import { FilesService } from './files.service';
import { StoredContentsService } from './stored-contents.service';

@Module({
  imports: [ContentModule, IndexingWorkModule],
  controllers: [FilesController],
  providers: [
    CopiesService,
    DeclarationsService,
    DestinationsService,
    FileLookupService,
    FilesService,
    StoredContentsService,
  ],
  exports: [DeclarationsService, FileLookupService],
})
export class StoredFilesModule {}
