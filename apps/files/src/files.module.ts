import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { files } from '@parley/contracts/files';
import { FileStoreModule, filesDatabase } from '@parley/file-store/file-store.module';
import { deadLettersController } from '@parley/outbox/dead-letters';
import { deriveKey } from '@parley/secrets/derived-key';
import { ErrorFilter } from '@parley/service/error.filter';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { FilesConfig } from './config';
import { ContentController } from './content.controller';
import { ContentService } from './content.service';
import { ContentUrls } from './content-urls';
import { EraseBotHandler } from './erase-bot.handler';
import { FilesController } from './files.controller';
import { FilesService } from './files.service';
import { SweeperService } from './sweeper.service';

export { filesDatabase };

/** Files, their content and their passages. */
@Module({})
export class FilesModule {
  static register(config: FilesConfig, platform: Platform): DynamicModule {
    return {
      module: FilesModule,
      imports: [
        ServiceModule.register({ name: 'files', contract: files, database: { ...filesDatabase, config } }, platform),
        FileStoreModule.register(config),
      ],
      controllers: [FilesController, ContentController, deadLettersController(files.deadLetters)],
      providers: [
        { provide: FilesConfig, useValue: config },
        {
          provide: ContentUrls,
          useFactory: () => new ContentUrls(config.contentUrl, deriveKey(config.secretKey, 'content-urls')),
        },
        FilesService,
        ContentService,
        EraseBotHandler,
        SweeperService,
        ErrorFilter,
        { provide: APP_FILTER, useExisting: ErrorFilter },
      ],
    };
  }
}
