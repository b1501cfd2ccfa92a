import { type DynamicModule, Module } from '@nestjs/common';
import { FolderBlobs } from '@parley/blobs/folder-blobs';
import { LocalIndex1700000000200 } from '@parley/passages/migrations/1700000000200-local-index';
import { PassagesModule } from '@parley/passages/passages.module';
import type { FileStoreConfig } from './config';
import { DeletedBotsRepository } from './deleted-bots.repository';
import { FilesRepository } from './files.repository';
import { JobsRepository } from './jobs.repository';
import { Files1700000002000 } from './migrations/1700000002000-files';
import { PassagesRepository } from './passages.repository';
import { blobStore } from './tokens';
import { UntidyFilesRepository } from './untidy-files.repository';
import { UploadsRepository } from './uploads.repository';

export const filesDatabase = { schema: 'files', migrations: [LocalIndex1700000000200, Files1700000002000] };

const repositories = [
  DeletedBotsRepository,
  FilesRepository,
  JobsRepository,
  PassagesRepository,
  UntidyFilesRepository,
  UploadsRepository,
];

/** The schema `files`, the content and the passage index, for the files service and its worker alone. */
@Module({})
export class FileStoreModule {
  static register(config: FileStoreConfig): DynamicModule {
    return {
      module: FileStoreModule,
      imports: [PassagesModule.register(config)],
      providers: [
        ...repositories,
        {
          provide: blobStore,
          useFactory: async () => {
            const blobs = new FolderBlobs(config.blobsDir);
            await blobs.ready();
            return blobs;
          },
        },
      ],
      exports: [...repositories, blobStore, PassagesModule],
    };
  }
}
