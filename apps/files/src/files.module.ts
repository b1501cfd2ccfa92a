import { type DynamicModule, Module } from '@nestjs/common';
import { filesApp } from '@parley/contracts/apps/files';
import { files, filesWorkAdded } from '@parley/contracts/files';
import { workController } from '@parley/work-queue/work.controller';
import { deadLettersController } from '@parley/events/dead-letters';
import { FileStoreModule, filesDatabase } from './store/file-store.module';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { FilesConfig } from './config';
import { ContentModule } from './content/content.module';
import { ErasureModule } from './erasure/erasure.module';
import { StoredFilesModule } from './files/stored-files.module';
import { IndexingWorkModule } from './indexing-work/indexing-work.module';
import { KnowledgeBasesModule } from './knowledge-bases/knowledge-bases.module';
import { PassagesModule } from './passages/passages.module';
import { ReindexModule } from './reindex/reindex.module';
import { SearchModule } from './search/search.module';
import { StorageModule } from './storage/storage.module';
import { VisitorFilesModule } from './visitor-files/visitor-files.module';
import { WorkersModule } from './workers/workers.module';

export { filesDatabase };

@Module({})
export class FilesModule {
  static register(config: FilesConfig, platform: Platform): DynamicModule {
    return {
      module: FilesModule,
      imports: [
        ServiceModule.register(
          {
            name: 'files',
            contract: files,
            consumers: filesApp.consumes,
            database: { ...filesDatabase, config },
            workAdded: filesWorkAdded,
          },
          platform,
        ),
        ConfigModule.register(FilesConfig, config),
        FileStoreModule.register(config),
        ContentModule,
        ErasureModule,
        IndexingWorkModule,
        KnowledgeBasesModule,
        PassagesModule,
        ReindexModule,
        SearchModule,
        StorageModule,
        StoredFilesModule,
        VisitorFilesModule,
        WorkersModule,
      ],
      controllers: [deadLettersController(files.deadLetters), workController(files.work)],
    };
  }
}
