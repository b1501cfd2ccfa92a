import { Module } from '@nestjs/common';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { FilesConfig } from '../config';
import { IndexingWorkModule } from '../indexing-work/indexing-work.module';
import { ContentController } from './content.controller';
import { ContentService } from './content.service';
import { ContentUrlsService } from './content-urls.service';
import { PendingContentService } from './pending-content.service';
import { UploadsService } from './uploads.service';

@Module({
  imports: [IndexingWorkModule],
  controllers: [ContentController],
  providers: [
    ContentService,
    {
      provide: ContentUrlsService,
      useFactory: (config: FilesConfig) => new ContentUrlsService(config.contentUrl, new SecretKeys(config)),
      inject: [FilesConfig],
    },
    PendingContentService,
    UploadsService,
  ],
  exports: [ContentService, ContentUrlsService, PendingContentService, UploadsService],
})
export class ContentModule {}
