import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { filesApp } from '@parley/contracts/apps/files';
import { files } from '@parley/contracts/files';
import { FileStoreModule, filesDatabase } from '@parley/file-store/file-store.module';
import { KnowledgeBaseEntity } from '@parley/file-store/knowledge-base.entity';
import { deadLettersController } from '@parley/events/dead-letters';
import { SecretKeys } from '@parley/secrets/secret-keys';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { FilesConfig } from './config';
import { ContentController } from './content/content.controller';
import { ContentService } from './content/content.service';
import { ContentUrlsService } from './content/content-urls.service';
import { DeclarationsService } from './files/declarations.service';
import { DestinationsService } from './files/destinations.service';
import { EraseBotHandler } from './erasure/erase-bot.handler';
import { ErasureService } from './erasure/erasure.service';
import { FilesController } from './files/files.controller';
import { FilesService } from './files/files.service';
import { IndexingService } from './indexing-work/indexing.service';
import { IndexingWorkController } from './indexing-work/indexing-work.controller';
import { IndexingWorkRepository } from './indexing-work/indexing-work.repository';
import { IndexingWorkService } from './indexing-work/indexing-work.service';
import { IndexingMetricsWorker } from './workers/indexing-metrics.worker';
import { KnowledgeBasesController } from './knowledge-bases/knowledge-bases.controller';
import { KnowledgeBasesRepository } from './knowledge-bases/knowledge-bases.repository';
import { KnowledgeBasesService } from './knowledge-bases/knowledge-bases.service';
import { MoveBotHandler } from './storage/move-bot.handler';
import { ReindexController } from './reindex/reindex.controller';
import { ReindexService } from './reindex/reindex.service';
import { SearchService } from './search/search.service';
import { StorageController } from './storage/storage.controller';
import { StorageService } from './storage/storage.service';
import { SweeperService } from './workers/sweeper.service';

export { filesDatabase };

@Module({})
export class FilesModule {
  static register(config: FilesConfig, platform: Platform): DynamicModule {
    return {
      module: FilesModule,
      imports: [
        ServiceModule.register(
          { name: 'files', contract: files, consumers: filesApp.consumes, database: { ...filesDatabase, config } },
          platform,
        ),
        FileStoreModule.register(config),
        TypeOrmModule.forFeature([KnowledgeBaseEntity]),
      ],
      controllers: [
        FilesController,
        KnowledgeBasesController,
        IndexingWorkController,
        StorageController,
        ContentController,
        ReindexController,
        deadLettersController(files.deadLetters),
        EraseBotHandler,
        MoveBotHandler,
      ],
      providers: [
        { provide: FilesConfig, useValue: config },
        {
          provide: ContentUrlsService,
          useFactory: () => new ContentUrlsService(config.contentUrl, new SecretKeys(config)),
        },
        FilesService,
        ContentService,
        DeclarationsService,
        DestinationsService,
        ErasureService,
        IndexingService,
        KnowledgeBasesRepository,
        KnowledgeBasesService,
        ReindexService,
        SearchService,
        IndexingWorkRepository,
        IndexingWorkService,
        IndexingMetricsWorker,
        StorageService,
        SweeperService,
      ],
    };
  }
}
