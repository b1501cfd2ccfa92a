import { type DynamicModule, Module } from '@nestjs/common';
import type { sealedTextOperations } from '@parley/contracts/sealed-texts';
import { Database } from '@parley/persistence/database';
import { SecretBox } from './secret-box';
import { SecretKeys, type SecretKeyVariables } from './secret-keys';
import { sealedTextsController } from './sealed-texts.controller';
import { type SealedColumns, SealedTextsRepository } from './sealed-texts.repository';
import { SealedTextsService } from './sealed-texts.service';

/** Encryption of stored secrets. The process does not start when its keys cannot open existing secrets. */
@Module({})
export class SealingModule {
  static register(
    config: SecretKeyVariables,
    kept: SealedColumns,
    operations: ReturnType<typeof sealedTextOperations>,
  ): DynamicModule {
    const keys = new SecretKeys(config);
    return {
      module: SealingModule,
      global: true,
      controllers: [sealedTextsController(operations)],
      providers: [
        { provide: SecretKeys, useValue: keys },
        { provide: SecretBox, useValue: new SecretBox(keys) },
        {
          provide: SealedTextsRepository,
          useFactory: (database: Database) => new SealedTextsRepository(database, kept),
          inject: [Database],
        },
        {
          provide: SealedTextsService,
          useFactory: async (database: Database, texts: SealedTextsRepository, box: SecretBox) => {
            const service = new SealedTextsService(database, texts, box);
            await service.requireKeys();
            return service;
          },
          inject: [Database, SealedTextsRepository, SecretBox],
        },
      ],
      exports: [SecretKeys, SecretBox],
    };
  }
}
