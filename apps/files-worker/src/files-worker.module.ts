import { type DynamicModule, Module } from '@nestjs/common';
import { filesWorkerApp } from '@parley/contracts/apps/files';
import { filesWorkAdded } from '@parley/contracts/files';
import { FileStoreModule, filesDatabase } from '../../files/src/store/file-store.module';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { FilesWorkerConfig } from './config';
import { IndexingModule } from './indexing/indexing.module';

/** Indexing worker: turns uploaded content into passages. Scales by its queue, independently of the files service. */
@Module({})
export class FilesWorkerModule {
  static register(config: FilesWorkerConfig, platform: Platform): DynamicModule {
    return {
      module: FilesWorkerModule,
      imports: [
        ServiceModule.register(
          {
            name: 'files-worker',
            contract: {},
            consumers: filesWorkerApp.consumes,
            database: { ...filesDatabase, config },
            workAdded: filesWorkAdded,
          },
          platform,
        ),
        ConfigModule.register(FilesWorkerConfig, config),
        FileStoreModule.register(config),
        IndexingModule,
      ],
    };
  }
}
